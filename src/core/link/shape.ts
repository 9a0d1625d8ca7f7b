import { type AgentKey, ANONYMOUS, nativeCall, partsOf } from "../facts/ids.ts";
import { formatUri } from "../facts/uri.ts";
import type { SpawnCall } from "./call-book.ts";
import type { GatheredAgent } from "./gather.ts";

/** The place of an agent in the forest. */
export interface Place {
  readonly key: AgentKey;
  readonly depth: number;
  readonly children: readonly AgentKey[];
}

/** Parents before children, siblings by start time. */
export function topDown(
  agents: readonly AgentKey[],
  parentOf: (key: AgentKey) => AgentKey | null,
  infoOf: (key: AgentKey) => GatheredAgent,
  calledAt: (key: AgentKey) => number | null,
): Place[] {
  const began = new Map(agents.map((key) => [key, infoOf(key).firstAt ?? calledAt(key) ?? Number.POSITIVE_INFINITY]));
  const byBirth = (a: AgentKey, b: AgentKey) => {
    const [x, y] = [began.get(a) ?? 0, began.get(b) ?? 0];
    return x === y ? (a < b ? -1 : 1) : x - y;
  };
  const children = Map.groupBy(agents, (key) => parentOf(key));
  const places: Place[] = [];
  const queue = (children.get(null) ?? []).toSorted(byBirth).map((key) => ({ key, depth: 0 }));
  // The queue grows during the loop: parents first, then their children.
  for (const next of queue) {
    const below = (children.get(next.key) ?? []).toSorted(byBirth);
    places.push({ ...next, children: below });
    for (const key of below) queue.push({ key, depth: next.depth + 1 });
  }
  return places;
}

export function subtreeActivity(
  order: readonly Place[],
  infoOf: (key: AgentKey) => GatheredAgent,
): Map<AgentKey, number> {
  const last = new Map<AgentKey, number>();
  for (const { key, children } of order.toReversed()) {
    const newest = children.reduce((t, c) => Math.max(t, last.get(c) ?? 0), infoOf(key).lastAt ?? 0);
    if (newest > 0) last.set(key, newest);
  }
  return last;
}

export interface AgentNames {
  readonly uri: string;
  readonly sessionId: string;
  readonly agentId: string | null;
  readonly provider: string;
}

/**
 * An agent's URI is its top-level thread and its own id. A thread of another product, or one that a shell command
 * started, keeps its own.
 */
export function nameAll(
  order: readonly Place[],
  parentOf: (key: AgentKey) => AgentKey | null,
  callOf: (key: AgentKey) => SpawnCall | undefined,
  isExternal: (key: AgentKey) => boolean,
) {
  const names = new Map<AgentKey, AgentNames>();
  for (const { key } of order) {
    const { provider, thread, agent } = partsOf(key);
    const parent = parentOf(key);
    const above = parent === null ? undefined : names.get(parent);
    const isRoot = above === undefined || above.provider !== provider || isExternal(key);
    const sessionId = isRoot ? thread : above.sessionId;
    const call = callOf(key);
    const own = agent !== null && call !== undefined && isAnonymous(agent) ? nativeCall(call.call) : agent;
    const agentId = isRoot && agent === null ? null : own === null ? thread : stripAnonymous(own);
    names.set(key, { uri: formatUri(provider, sessionId, agentId), sessionId, agentId, provider });
  }
  return names;
}

const isAnonymous = (agent: string) => agent.startsWith(ANONYMOUS);
const stripAnonymous = (agent: string) => (isAnonymous(agent) ? agent.slice(ANONYMOUS.length) : agent);

/** The names of an agent, from its records and its spawn call. */
export const namesOf = (info: GatheredAgent, call: SpawnCall | undefined) => ({
  type: info.agentType ?? call?.agentType ?? null,
  name: info.name ?? call?.name ?? null,
  title: info.title,
  description: info.description ?? call?.description ?? null,
  prompt: call?.prompt ?? info.prompt,
});
