import { setTimeout as wait } from "node:timers/promises";
import { type AgentKey, nativeCall, threadOf } from "../../core/facts/ids.ts";
import type { Starter } from "../../core/facts/observation.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import { asNonBlank, asObject } from "../../core/tools/json.ts";
import { STARTER_VARIABLES, startersIn } from "../../providers/kit/launch/environment.ts";
import { commandLineOf, originOf } from "../../transports/system/origin.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { readEvents } from "./events.ts";

/** The process that runs `retinue self`: what it shows about the agent it belongs to. */
export interface Caller {
  readonly env: Env;
  /** Nearest first: the agents that each ancestor's environment names, and its command line. */
  readonly ancestors: readonly { readonly starters: readonly Starter[]; readonly command: string }[];
}

export type SelfFound =
  | { readonly is: "found"; readonly agent: AgentKey; readonly how: string }
  | { readonly is: "several"; readonly agents: readonly AgentKey[] }
  | { readonly is: "none" };

/** The process of this program. On systems other than Linux and macOS only its environment is known. */
export function ownCaller(env: Env): Caller {
  const names = new Set(STARTER_VARIABLES);
  const ancestors = (originOf(process.pid, names)?.ancestors ?? []).flatMap((pid) => {
    const origin = originOf(pid, names);
    if (origin === null) return [];
    // Without their environment, it is unknown which of them set the variables.
    const starters = origin.variables === null ? startersIn(env) : startersIn(origin.variables);
    return [{ starters, command: commandLineOf(pid) ?? "" }];
  });
  return { env, ancestors };
}

/** A product may write the record of a tool call shortly after the tool has started. */
const TRIES = 20;
const PAUSE_MS = 150;

/** Finds the agent that runs this program with its shell tool. */
export async function findSelf(library: Library, caller: Caller, tries = TRIES): Promise<SelfFound> {
  const nearest = nearestStarter(caller);
  for (let left = tries; ; left -= 1) {
    const found = await findNow(library, caller, nearest);
    if (found.is === "found" || left <= 1) return found;
    await wait(PAUSE_MS);
    await library.refresh();
  }
}

/**
 * A process inherits the variables of all agents above it. The nearest agent is the one whose variable is missing in the
 * environment of the nearest ancestor: that ancestor, or one above it, set the variable for its commands.
 */
function nearestStarter({ env, ancestors }: Caller): Starter | null {
  const own = startersIn(env);
  const reach = (starter: Starter) => {
    const missing = ancestors.findIndex(({ starters }) => !starters.some(({ agent }) => agent === starter.agent));
    return missing < 0 ? ancestors.length : missing;
  };
  return own.toSorted((a, b) => reach(a) - reach(b) || Number(b.exact) - Number(a.exact))[0] ?? null;
}

async function findNow(library: Library, caller: Caller, nearest: Starter | null): Promise<SelfFound> {
  if (nearest?.exact) {
    const forest = library.forestOf([threadOf(nearest.agent)]);
    const agent = forest.nameOf(nearest.agent);
    return forest.agents.has(agent) ? { is: "found", agent, how: `this process ${nearest.says}` } : { is: "none" };
  }
  const threads =
    nearest === null
      ? [...library.threadRows({ running: true })].map(({ place }) => threadOf(place.key))
      : [threadOf(nearest.agent)];
  const forests = threads.map((thread) => ({ thread, forest: library.forestOf([thread]) }));
  const calling: { readonly agent: LinkedAgent; readonly isCaller: boolean }[] = [];
  for (const { thread, forest } of forests) {
    if (!forest.agents.has(thread)) continue;
    const working = subtreeOf(forest, thread)
      .map((key) => agentOf(forest, key))
      .filter(({ key, pending }) => threadOf(key) === thread && pending.some(({ spawns }) => !spawns));
    for (const agent of working)
      calling.push({ agent, isCaller: await runsThisProcess(library, forest, agent, caller) });
  }
  const ours = calling.filter(({ isCaller }) => isCaller);
  const [only, ...others] = ours;
  const says = nearest === null ? "" : `this process ${nearest.says}, and `;
  if (only !== undefined && others.length === 0)
    return {
      is: "found",
      agent: only.agent.key,
      how: `${says}a process above it runs the command of its open tool call`,
    };
  if (ours.length > 1) return { is: "several", agents: ours.map(({ agent }) => agent.key) };
  // Without command lines of processes, it must be the only agent that runs a tool.
  const [alone, ...more] = calling;
  if (nearest !== null && alone !== undefined && more.length === 0 && caller.ancestors.length === 0)
    return { is: "found", agent: alone.agent.key, how: `${says}it is the only agent of it that runs a tool` };
  return calling.length > 1 && nearest !== null
    ? { is: "several", agents: calling.map(({ agent }) => agent.key) }
    : { is: "none" };
}

/** Whether one of the processes above this one runs the command of an open tool call of the agent. */
async function runsThisProcess(library: Library, forest: Forest, { key, pending }: LinkedAgent, { ancestors }: Caller) {
  const open = new Set(pending.filter(({ spawns }) => !spawns).map(({ call }) => nativeCall(call)));
  const events = await readEvents(library, forest, [key]);
  const commands = events.flatMap(({ kind, tool }) => {
    if (kind !== "toolCall" || tool?.callId == null || !open.has(tool.callId)) return [];
    const input = asObject(tool.input);
    return asNonBlank(input?.command) ?? asNonBlank(input?.cmd) ?? [];
  });
  return commands.some((command) => ancestors.some((one) => bare(one.command).includes(bare(command))));
}

/** Without quotes, escapes and spaces, which shells change. */
const bare = (command: string) => command.replace(/[\s"'\\]+/g, "");
