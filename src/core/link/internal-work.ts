import { type AgentKey, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { emptyAgent, type GatheredAgent } from "./gather.ts";
import type { Parentage } from "./parents.ts";

/** The agents without internal work of the product, which belongs to the thread that it was done for. */
export interface WithoutInternalWork {
  readonly agents: readonly AgentKey[];
  /** The nearest ancestor that is not internal work. */
  readonly parentOf: (agent: AgentKey) => AgentKey | null;
  readonly infoOf: (agent: AgentKey) => GatheredAgent;
  /** Internal work, by thread. */
  readonly ownBehalf: ReadonlyMap<AgentKey | null, readonly GatheredAgent[]>;
}

export function withoutInternalWork(
  facts: readonly Observation[],
  gathered: ReadonlyMap<AgentKey, GatheredAgent>,
  { agents: all, parents, evidence }: Parentage,
): WithoutInternalWork {
  const infoOf = (key: AgentKey) => gathered.get(key) ?? emptyAgent(key);
  const spawned = new Set(facts.flatMap((f) => (f.type === "call-spawned" ? [f.child] : [])));
  /** Whether a call spawned the agent, even if the record of the call is missing. */
  const isSpawned = (key: AgentKey) =>
    spawned.has(key) || evidence.get(key)?.some((e) => e.call !== null || e.source === "manual") === true;
  const isStatedInternal = (key: AgentKey) => {
    const internal = gathered.get(key)?.internal ?? null;
    return internal !== null && !(internal.unlessSpawned && isSpawned(key));
  };
  /** The thread of an agent, or the parent of a thread. */
  const above = (key: AgentKey) => (threadOf(key) === key ? (parents.get(key) ?? null) : threadOf(key));
  /**
   * The agent that internal work was done for: the nearest ancestor that is not internal itself, else the topmost one.
   * Null for a root, or for work in a cycle, which are shown as agents.
   */
  const hostOf = (key: AgentKey): AgentKey | null => {
    const chain = [key];
    for (const last of chain) {
      const next = above(last);
      if (next === null) return last === key ? null : last;
      if (chain.includes(next)) return next === key ? null : next;
      if (!isStatedInternal(next)) return next;
      chain.push(next);
    }
    return null;
  };
  const isInternal = (key: AgentKey) => isStatedInternal(key) && hostOf(key) !== null;
  const parentOf = (key: AgentKey): AgentKey | null => {
    let parent = parents.get(key) ?? null;
    while (parent !== null && isInternal(parent)) parent = parents.get(parent) ?? null;
    return parent;
  };
  const agents = [...all].filter((key) => !isInternal(key));
  const ownBehalf = Map.groupBy([...all].filter(isInternal).map(infoOf), ({ key }) => hostOf(key));
  return { agents, parentOf, infoOf, ownBehalf };
}
