import { type AgentKey, threadOf } from "../facts/ids.ts";
import type { Problem } from "../facts/problem.ts";
import { type Evidence, type EvidenceOf, inItsThread, type ParentEvidence, stronger } from "./evidence.ts";

export interface AcyclicParents {
  /** Every agent's parent after cycles are cut. */
  readonly parents: ReadonlyMap<AgentKey, AgentKey | null>;
  /** Evidence for agents that were placed in their threads, because all their parents were cut. */
  readonly placed: readonly EvidenceOf[];
  readonly problems: readonly Problem[];
}

/**
 * Picks the strongest parent of every agent. If that closes a cycle, its weakest link is replaced by the agent's next
 * best parent outside of it, or by its thread.
 */
export function cutCycles(agents: ReadonlySet<AgentKey>, evidence: Evidence): AcyclicParents {
  const choice = new Map<AgentKey, readonly ParentEvidence[]>();
  const problems: Problem[] = [];
  for (const agent of [...agents].sort()) {
    const all = evidence.of(agent);
    if (all[0]?.parent === agent)
      problems.push({ code: "parent-cycle", where: agent, detail: "it is named as its own parent" });
    choice.set(
      agent,
      all.filter((e) => e.parent !== agent),
    );
  }
  const done = new Set<AgentKey>();
  for (const start of [...agents].sort()) {
    for (;;) {
      const cycle = cycleFrom(start, choice, done);
      if (cycle === null) break;
      const weakest = cycle.reduce((w, a) => {
        const [ea, ew] = [choice.get(a)?.[0], choice.get(w)?.[0]];
        return ea && ew && stronger(ew, ea) < 0 ? a : w;
      });
      problems.push({ code: "parent-cycle", where: weakest, detail: someOf([...cycle].sort()) });
      const inCycle = new Set(cycle);
      choice.set(
        weakest,
        (choice.get(weakest) ?? []).filter((e) => !inCycle.has(e.parent)),
      );
    }
  }
  const parents = new Map([...agents].map((agent) => [agent, choice.get(agent)?.[0]?.parent ?? null]));
  const placed: EvidenceOf[] = [];
  // An agent without a parent after a cut is placed in its thread, unless the thread itself is below it.
  const isBelow = (key: AgentKey, agent: AgentKey) => {
    for (let at: AgentKey | null = key; at !== null; at = parents.get(at) ?? null) if (at === agent) return true;
    return false;
  };
  for (const agent of [...parents.keys()].sort()) {
    const thread = threadOf(agent);
    if (agent === thread || parents.get(agent) !== null || isBelow(thread, agent)) continue;
    placed.push(inItsThread(agent, "the agents named as its parents are below it"));
    parents.set(agent, thread);
  }
  return { parents, placed, problems };
}

const SOME = 8;
const someOf = (names: readonly AgentKey[]) =>
  names.slice(0, SOME).join(" -> ") + (names.length > SOME ? ` and ${names.length - SOME} more` : "");

/** The agents of the cycle that `start` leads into, or null; agents that lead to a root are added to `done`. */
function cycleFrom(
  start: AgentKey,
  choice: ReadonlyMap<AgentKey, readonly ParentEvidence[]>,
  done: Set<AgentKey>,
): AgentKey[] | null {
  const path: AgentKey[] = [];
  const seen = new Map<AgentKey, number>();
  let at: AgentKey | undefined = start;
  while (at !== undefined && !done.has(at)) {
    const before = seen.get(at);
    if (before !== undefined) return path.slice(before);
    seen.set(at, path.length);
    path.push(at);
    at = choice.get(at)?.[0]?.parent;
  }
  for (const agent of path) done.add(agent);
  return null;
}
