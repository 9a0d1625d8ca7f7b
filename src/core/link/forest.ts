import type { AgentKey } from "../facts/ids.ts";
import type { Problem } from "../facts/problem.ts";
import type { SpawnCall } from "./call-book.ts";
import type { ParentEvidence } from "./evidence.ts";
import type { GatheredAgent, ModelCall } from "./gather.ts";
import type { OwnerOf } from "./originals.ts";
import type { TotalsOf, Undivided } from "./reconcile.ts";
import type { AgentNames } from "./shape.ts";
import type { Undecided } from "./start-matching.ts";
import type { AgentState } from "./states.ts";
import type { RefusedSpawn } from "./unseen-agents.ts";

export interface LinkedAgent extends GatheredAgent, AgentState, Omit<AgentNames, "provider"> {
  readonly parent: AgentKey | null;
  readonly depth: number;
  /** Oldest first. */
  readonly children: readonly AgentKey[];
  /** Strongest first; the first one decided, unless a cycle had to be cut. */
  readonly evidence: readonly ParentEvidence[];
  readonly spawnCall: SpawnCall | undefined;
  /** Its spawn calls that were refused, oldest first. */
  readonly refused: readonly RefusedSpawn[];
  readonly forkedFrom: AgentKey | null;
  /** Last activity of the agent or its subtree. */
  readonly lastActivity: number | null;
  /** Internal work of the product in this thread. */
  readonly ownBehalf: readonly GatheredAgent[];
  /** Unrecorded internal calls for this agent, derived from the product's totals. */
  readonly revealed: readonly ModelCall[];
  /** Usage that only a total of the thread states. */
  readonly undivided: readonly Undivided[];
  /** An agent may have started the thread; null if that is decided, or if nothing suggests it. */
  readonly undecided: Undecided | null;
}

export interface Forest {
  readonly now: number;
  readonly agents: ReadonlyMap<AgentKey, LinkedAgent>;
  /** Threads without a parent, newest activity first. */
  readonly roots: readonly AgentKey[];
  readonly problems: readonly Problem[];
  /** The owner of a record that several agents contain. */
  readonly ownerOf: OwnerOf;
  /** The key of an agent in `agents`, if a copy of its thread names it differently. */
  readonly nameOf: (agent: AgentKey) => AgentKey;
  /** The product's totals of a thread, compared with its model calls; computed on request. */
  readonly totalsOf: TotalsOf;
  /** Number of facts used, without folded ones. */
  readonly facts: number;
}

/** Merges independent forests. */
export function mergeForests(forests: readonly Forest[]): Forest {
  const [only] = forests;
  if (forests.length === 1 && only !== undefined) return only;
  const agents = new Map(forests.flatMap((forest) => [...forest.agents]));
  const first = <T>(find: (forest: Forest) => T | undefined) =>
    forests
      .values()
      .map(find)
      .find((found) => found !== undefined);
  return {
    now: Math.max(0, ...forests.map(({ now }) => now)),
    agents,
    roots: forests.flatMap(({ roots }) => roots).sort(newestFirst((key) => agents.get(key)?.lastActivity)),
    problems: forests.flatMap(({ problems }) => problems),
    ownerOf: (record, likely) => first((forest) => forest.ownerOf(record, likely)),
    nameOf: (agent) => first((forest) => (forest.nameOf(agent) === agent ? undefined : forest.nameOf(agent))) ?? agent,
    totalsOf: (thread) => forests.find((forest) => forest.agents.has(thread))?.totalsOf(thread) ?? null,
    facts: forests.reduce((sum, forest) => sum + forest.facts, 0),
  };
}

export const newestFirst = (lastActivity: (key: AgentKey) => number | null | undefined) => (a: AgentKey, b: AgentKey) =>
  (lastActivity(b) ?? 0) - (lastActivity(a) ?? 0) || (a < b ? -1 : 1);

/** The agent of a key that is known to be in the forest. Throws otherwise. */
export function agentOf(forest: Forest, key: AgentKey): LinkedAgent {
  const agent = forest.agents.get(key);
  if (agent === undefined) throw new Error(`no agent ${key} in the forest`);
  return agent;
}

/** The agent and its subtree, parents first. */
export function subtreeOf(forest: Forest, root: AgentKey): AgentKey[] {
  const keys = [root];
  // Grows during the loop; avoids recursion.
  for (const key of keys) for (const child of agentOf(forest, key).children) keys.push(child);
  return keys;
}

/** The threads that began as copies of these agents: forks, and sessions that continue an agent elsewhere. */
export const continuationsOf = (forest: Forest, of: ReadonlySet<AgentKey>): readonly LinkedAgent[] =>
  [...forest.agents.values()].filter(({ forkedFrom }) => forkedFrom !== null && of.has(forkedFrom));
