import { type AgentKey, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { type GatheredAgent, gatherAgents } from "./gather.ts";
import type { Parentage } from "./parents.ts";

/** The agents without internal work of the product, which belongs to the thread that it was done for. */
export interface WithoutOwnWork {
  readonly agents: readonly AgentKey[];
  /** The nearest ancestor that is not internal work. */
  readonly parentOf: (agent: AgentKey) => AgentKey | null;
  readonly infoOf: (agent: AgentKey) => GatheredAgent;
  /** Internal work, by thread. */
  readonly ownBehalf: ReadonlyMap<AgentKey | null, readonly GatheredAgent[]>;
}

export function withoutOwnWork(
  facts: readonly Observation[],
  gathered: ReadonlyMap<AgentKey, GatheredAgent>,
  { agents: all, parents, evidence }: Parentage,
): WithoutOwnWork {
  const infoOf = (key: AgentKey) => gathered.get(key) ?? emptyAgent(key);
  const spawned = new Set(facts.flatMap((f) => (f.type === "call-spawned" ? [f.child] : [])));
  const isInternal = (key: AgentKey) => {
    const internal = gathered.get(key)?.internal;
    if (internal === undefined || internal === null) return false;
    // A call spawned it, even if the record of the call is missing.
    return (
      !internal.unlessSpawned ||
      !(spawned.has(key) || evidence.get(key)?.some((e) => e.call !== null || e.source === "manual"))
    );
  };
  /** The thread of an agent, or the parent of a thread. */
  const above = (key: AgentKey) => (threadOf(key) === key ? (parents.get(key) ?? null) : threadOf(key));
  /**
   * The agent that internal work was done for: the nearest ancestor that is not internal itself, else the topmost one.
   * Null for a root, or for work in a cycle: it is then shown as an agent.
   */
  const hostOf = (key: AgentKey): AgentKey | null => {
    const chain = [key];
    for (const last of chain) {
      const next = above(last);
      if (next === null) return last === key ? null : last;
      if (chain.includes(next)) return next === key ? null : next;
      if (!isInternal(next)) return next;
      chain.push(next);
    }
    return null;
  };
  const isOwnWork = (key: AgentKey) => isInternal(key) && hostOf(key) !== null;
  const parentOf = (key: AgentKey): AgentKey | null => {
    let parent = parents.get(key) ?? null;
    while (parent !== null && isOwnWork(parent)) parent = parents.get(parent) ?? null;
    return parent;
  };
  const agents = [...all].filter((key) => !isOwnWork(key));
  const ownBehalf = Map.groupBy([...all].filter(isOwnWork).map(infoOf), ({ key }) => hostOf(key));
  return { agents, parentOf, infoOf, ownBehalf };
}

function emptyAgent(key: AgentKey): GatheredAgent {
  return gatherAgents([], () => undefined, [key]).get(key) as GatheredAgent;
}
