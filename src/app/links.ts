import type { AgentKey, CallKey } from "../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../core/link.ts";
import { UNANSWERED_RULE } from "../core/parents.ts";
import { Failure } from "./failure.ts";
import type { Env } from "./home.ts";
import { keep } from "./kept-file.ts";
import type { Library } from "./library.ts";
import { uriOf } from "./requests.ts";
import { resolve } from "./resolve.ts";

/** Where an agent stands after its link was changed by hand. */
export interface Relinked {
  readonly uri: string;
  /** Null where it stands on its own. */
  readonly parent: string | null;
  /** Threads in which something moved. */
  readonly threads: ReadonlySet<AgentKey>;
}

/**
 * Puts an agent under another by hand: wins over every other rule until it is taken back.
 * Each is named by its URI or by a proxied request of it. The child takes the place of an unanswered call of the parent.
 */
export async function linkByHand(library: Library, env: Env, childName: string, parentName: string): Promise<Relinked> {
  const request = library.store.exchange(parentName, library.under);
  const { child, parent, forest } = pair(library, uriOf(library, childName), uriOf(library, parentName));
  const asked = request?.invocations ?? unansweredCalls(forest, parent);
  const call = callFor(child, asked, forest, request !== null);
  const kept = await keep(env);
  try {
    kept.link({ child: child.key, parent: parent.key, at: Date.now(), call, request: request?.id ?? null });
  } finally {
    kept.close();
  }
  return standing(library, child.key);
}

function pair(library: Library, childUri: string, parentUri: string): { readonly child: LinkedAgent; readonly parent: LinkedAgent; readonly forest: Forest } {
  const keys = [resolve(library, childUri).key, resolve(library, parentUri).key] as const;
  const forest = library.forestOf(keys);
  const [child, parent] = [agentOf(forest, keys[0]), agentOf(forest, keys[1])];
  if (subtreeOf(forest, child.key).includes(parent.key))
    throw new Failure("failed", `${parent.uri} is ${child.key === parent.key ? "the agent itself" : `below ${child.uri}`}: that would be a circle`, [
      "next: name a parent outside it",
    ]);
  return { child, parent, forest };
}

interface Asked {
  readonly call: CallKey;
  readonly prompt: string | null;
}

const isUnanswered = ({ evidence }: LinkedAgent) => evidence[0]?.rule === UNANSWERED_RULE;

function unansweredCalls(forest: Forest, parent: LinkedAgent): readonly Asked[] {
  return parent.children.flatMap((key) => {
    const child = agentOf(forest, key);
    return isUnanswered(child) && child.spawnCall !== undefined ? [child.spawnCall] : [];
  });
}

/**
 * The call that the child answers: the one it answers already, else one with its prompt, else one whose prompt it holds.
 * Failing that, the first free call of the request that was named (`isNamed`), or the only one that the parent left unanswered.
 */
function callFor(child: LinkedAgent, asked: readonly Asked[], forest: Forest, isNamed: boolean): CallKey | null {
  const owners = Map.groupBy(forest.agents.values(), ({ spawnCall }) => spawnCall?.call);
  const own = asked.find(({ call }) => owners.get(call)?.some(({ key }) => key === child.key));
  const free = asked.filter(({ call }) => owners.get(call)?.every(isUnanswered) ?? true);
  const prompt = (child.prompt ?? "").trim();
  const wanted = free.filter((one) => one.prompt !== null && one.prompt.trim() !== "");
  const found =
    own ??
    wanted.find((one) => one.prompt?.trim() === prompt) ??
    wanted.find((one) => prompt.includes(one.prompt?.trim() ?? "")) ??
    (isNamed || free.length === 1 ? free[0] : undefined);
  return found?.call ?? null;
}

/** Takes a manual link back; the evidence of the records decides again. */
export async function unlinkByHand(library: Library, env: Env, childName: string): Promise<Relinked> {
  const child = resolve(library, uriOf(library, childName));
  const kept = await keep(env);
  try {
    if (!kept.unlink(child.key)) throw new Failure("not_found", `${child.uri} has no manual link`, [`next: retinue why ${child.uri}`]);
  } finally {
    kept.close();
  }
  return standing(library, child.key);
}

async function standing(library: Library, key: AgentKey): Promise<Relinked> {
  const threads = await library.refreshPaths([]);
  const forest = library.forestOf([key]);
  const { uri, parent } = agentOf(forest, key);
  return { uri, parent: parent === null ? null : agentOf(forest, parent).uri, threads };
}
