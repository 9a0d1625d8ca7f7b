import { partsOf } from "../core/ids.ts";
import { agentOf, type LinkedAgent } from "../core/link.ts";
import { parseTarget, type Target } from "../core/uri.ts";
import { PROVIDERS } from "../providers/index.ts";
import { Failure } from "./failure.ts";
import type { Machine } from "./machine.ts";

/** Finds fault with what can be told wrong before anything is read. */
export function checkTarget(input: string): void {
  const target = parseTarget(input, PROVIDERS, () => true);
  if ("wrong" in target) throw new Failure("usage", target.wrong, [target.right]);
}

/** Finds the one agent that the words name, or says why there is none. */
export function resolve(machine: Machine, input: string): LinkedAgent {
  const ids = new Set([...machine.forest.agents.keys()].flatMap((k) => [partsOf(k).thread, partsOf(k).agent ?? ""]));
  const target = parseTarget(input, PROVIDERS, (id) => ids.has(id));
  if ("wrong" in target) throw new Failure("usage", target.wrong, [target.right]);
  const thread = target.is === "latest" ? latest(machine, target.provider) : named(machine, target);
  return target.agent === null ? thread : below(machine, thread, target.agent);
}

function latest(machine: Machine, provider: string | null): LinkedAgent {
  for (const root of machine.forest.roots) {
    if (provider === null || partsOf(root).provider === provider) return agentOf(machine.forest, root);
  }
  throw nothing(machine, provider === null ? "no threads yet" : `no ${provider} threads yet`);
}

function named(machine: Machine, target: Extract<Target, { is: "named" }>): LinkedAgent {
  const agents = [...machine.forest.agents.values()].filter((a) => target.provider === null || partsOf(a.key).provider === target.provider);
  return one(
    fitting(agents.filter(isThread), target.thread, (a) => partsOf(a.key).thread),
    () => {
      const inside = fitting(agents, target.thread, (a) => a.agentId);
      const hint = inside.length === 0 ? [] : [`it is the id of an agent: ${list(inside)}`];
      return nothing(machine, `no thread ${target.thread}`, hint);
    },
  );
}

function below(machine: Machine, thread: LinkedAgent, id: string): LinkedAgent {
  const agents = [...machine.forest.agents.values()].filter((a) => a.agentId !== null);
  const inside = agents.filter((a) => a.sessionId === thread.sessionId && partsOf(a.key).provider === partsOf(thread.key).provider);
  const idsOf = (a: LinkedAgent) => [a.agentId, partsOf(a.key).agent, partsOf(a.key).thread];
  return one(fittingAny(inside, id, idsOf), () => {
    const elsewhere = fittingAny(agents, id, idsOf);
    if (elsewhere.length > 0) return new Failure("not_found", `${id} is not an agent of ${thread.uri}`, [`it belongs to another thread: ${list(elsewhere)}`]);
    return new Failure("not_found", `no agent ${id} in ${thread.uri}`, [
      `agents of this thread: ${list(inside) || "none"}`,
      `next: retinue tree ${thread.uri}`,
    ]);
  });
}

/** A thread can be asked for by its own id even where it stands below another one. */
const isThread = (a: LinkedAgent) => partsOf(a.key).agent === null;

const fitting = (agents: readonly LinkedAgent[], id: string, idOf: (a: LinkedAgent) => string | null) => fittingAny(agents, id, (a) => [idOf(a)]);

function fittingAny(agents: readonly LinkedAgent[], id: string, idsOf: (a: LinkedAgent) => readonly (string | null)[]): LinkedAgent[] {
  const exact = agents.filter((a) => idsOf(a).includes(id));
  if (exact.length > 0 || id.length < 6) return exact;
  return agents.filter((a) => idsOf(a).some((own) => own?.toLowerCase().startsWith(id.toLowerCase())));
}

function one(found: readonly LinkedAgent[], none: () => Failure): LinkedAgent {
  const [first, ...more] = found;
  if (first === undefined) throw none();
  if (more.length > 0)
    throw new Failure(
      "not_found",
      `${found.length} fit; write more of the id`,
      found.slice(0, 10).map((a) => a.uri),
    );
  return first;
}

const list = (agents: readonly LinkedAgent[]) =>
  agents
    .slice(0, 5)
    .map((a) => a.uri)
    .join(", ") + (agents.length > 5 ? `, and ${agents.length - 5} more` : "");

function nothing(machine: Machine, what: string, hint: readonly string[] = []): Failure {
  const searched = machine.roots.map((r) => `${r.path}${r.exists ? "" : " (not there)"}`).join(", ");
  return new Failure("not_found", what, [...hint, `searched: ${searched}`, "next: retinue ls"]);
}
