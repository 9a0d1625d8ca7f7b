import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import { SPAWN_CALL_RULE } from "../../core/link/evidence.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { uriOf } from "../query/requests.ts";
import { resolve } from "../query/resolve.ts";
import { openKept } from "./kept-file.ts";

/** An agent after its link was changed manually. */
export interface Relinked {
  readonly uri: string;
  /** Null if it is a root. */
  readonly parent: string | null;
  /** Threads that changed. */
  readonly threads: ReadonlySet<AgentKey>;
}

/**
 * Sets the parent of an agent manually. Overrides all other evidence until it is removed. Both are named by a URI or by
 * a proxied request. The child takes the place of a spawn call of the parent that has no agent yet.
 */
export async function linkByHand(library: Library, env: Env, childName: string, parentName: string): Promise<Relinked> {
  const request = library.store.exchange(parentName, library.under);
  const { child, parent, forest } = pair(library, uriOf(library, childName), uriOf(library, parentName));
  const calls = request?.invocations ?? openCalls(forest, parent);
  const call = callFor(child, calls, forest, request !== null);
  const kept = await openKept(env);
  try {
    kept.link({ child: child.key, parent: parent.key, at: Date.now(), call, request: request?.id ?? null });
  } finally {
    kept.close();
  }
  return relinked(library, child.key);
}

function pair(
  library: Library,
  childUri: string,
  parentUri: string,
): { readonly child: LinkedAgent; readonly parent: LinkedAgent; readonly forest: Forest } {
  const keys = [resolve(library, childUri).key, resolve(library, parentUri).key] as const;
  const forest = library.forestOf(keys);
  const [child, parent] = [agentOf(forest, keys[0]), agentOf(forest, keys[1])];
  if (subtreeOf(forest, child.key).includes(parent.key))
    throw new Failure(
      "failed",
      `${parent.uri} is ${child.key === parent.key ? "the agent itself" : `below ${child.uri}`}: this would be a cycle`,
      ["next: choose a parent that is not below it"],
    );
  return { child, parent, forest };
}

interface OpenCall {
  readonly call: CallKey;
  readonly prompt: string | null;
}

const isUnseen = ({ evidence }: LinkedAgent) => evidence[0]?.rule === SPAWN_CALL_RULE;

function openCalls(forest: Forest, parent: LinkedAgent): readonly OpenCall[] {
  return parent.children.flatMap((key) => {
    const child = agentOf(forest, key);
    return isUnseen(child) && child.spawnCall !== undefined ? [child.spawnCall] : [];
  });
}

/**
 * The spawn call to assign to the child: its current one, else one with the same prompt, else one whose prompt it
 * contains. Failing that, the first free call of the named request (`isNamed`), or the only open one of the parent.
 */
function callFor(child: LinkedAgent, calls: readonly OpenCall[], forest: Forest, isNamed: boolean): CallKey | null {
  const owners = Map.groupBy(forest.agents.values(), ({ spawnCall }) => spawnCall?.call);
  const own = calls.find(({ call }) => owners.get(call)?.some(({ key }) => key === child.key));
  const free = calls.filter(({ call }) => owners.get(call)?.every(isUnseen) ?? true);
  const prompt = (child.prompt ?? "").trim();
  const withPrompt = free.filter((one) => one.prompt !== null && one.prompt.trim() !== "");
  const found =
    own ??
    withPrompt.find((one) => one.prompt?.trim() === prompt) ??
    withPrompt.find((one) => prompt.includes(one.prompt?.trim() ?? "")) ??
    (isNamed || free.length === 1 ? free[0] : undefined);
  return found?.call ?? null;
}

/** Removes a manual link; the evidence of the records decides again. */
export async function unlinkByHand(library: Library, env: Env, childName: string): Promise<Relinked> {
  const child = resolve(library, uriOf(library, childName));
  const kept = await openKept(env);
  try {
    if (!kept.unlink(child.key))
      throw new Failure("not_found", `${child.uri} has no manual link`, [`next: retinue why ${child.uri}`]);
  } finally {
    kept.close();
  }
  return relinked(library, child.key);
}

async function relinked(library: Library, key: AgentKey): Promise<Relinked> {
  const { threads } = await library.refreshPaths([]);
  const forest = library.forestOf([key]);
  const { uri, parent } = agentOf(forest, key);
  return { uri, parent: parent === null ? null : agentOf(forest, parent).uri, threads };
}
