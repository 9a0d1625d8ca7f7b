import { type AgentKey, type RecordKey, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import type { Problem } from "../facts/problem.ts";
import { plural } from "../tools/format.ts";
import type { SpawnCall } from "./call-book.ts";
import type { Fold } from "./fold.ts";
import { type GatheredAgent, gatherAgents, type ModelCall } from "./gather.ts";
import type { Liveness } from "./liveness.ts";
import { originalsIn } from "./originals.ts";
import { withoutOwnWork } from "./own-work.ts";
import { decideParents, type ManualLink, type ParentEvidence } from "./parents.ts";
import { type TotalsOf, totalsIn, usageFromTotals } from "./reconcile.ts";
import { nameAll, type Place, subtreeActivity, topDown } from "./shape.ts";
import { type AgentState, decideStates } from "./states.ts";

export interface LinkOptions {
  readonly now: number;
  readonly liveness: Liveness;
  readonly manual?: readonly ManualLink[];
  readonly staleAfterMs?: number;
}

export interface LinkedAgent extends GatheredAgent, AgentState {
  readonly uri: string;
  readonly sessionId: string;
  readonly agentId: string | null;
  readonly parent: AgentKey | null;
  readonly depth: number;
  /** Oldest first. */
  readonly children: readonly AgentKey[];
  /** Strongest first; the first one decided, unless a cycle had to be cut. */
  readonly evidence: readonly ParentEvidence[];
  readonly spawnCall: SpawnCall | undefined;
  readonly forkedFrom: AgentKey | null;
  /** Last activity of the agent or its subtree. */
  readonly lastActivity: number | null;
  /** Internal work of the product in this thread. */
  readonly ownBehalf: readonly GatheredAgent[];
  /** Unrecorded internal calls for this agent, derived from the product's totals. */
  readonly revealed: readonly ModelCall[];
  /** Usage that only a total states, for all agents of the thread together. */
  readonly undivided: readonly ModelCall[];
}

export interface Forest {
  readonly now: number;
  readonly agents: ReadonlyMap<AgentKey, LinkedAgent>;
  /** Threads without a parent, newest activity first. */
  readonly roots: readonly AgentKey[];
  readonly problems: readonly Problem[];
  /** The owner of a record that several agents contain. */
  readonly ownerOf: (record: RecordKey) => AgentKey | undefined;
  /** The key of an agent in `agents`, if a copy of its thread names it differently. */
  readonly nameOf: (agent: AgentKey) => AgentKey;
  /** The product's totals of a thread, compared with its model calls; computed on request. */
  readonly totalsOf: TotalsOf;
  /** Number of facts used, without folded ones. */
  readonly facts: number;
}

/** Merges independent forests. */
export function together(forests: readonly Forest[]): Forest {
  const [only] = forests;
  if (forests.length === 1 && only !== undefined) return only;
  const agents = new Map(forests.flatMap((forest) => [...forest.agents]));
  const first = <T>(look: (forest: Forest) => T | undefined) =>
    forests
      .values()
      .map(look)
      .find((found) => found !== undefined);
  return {
    now: Math.max(0, ...forests.map(({ now }) => now)),
    agents,
    roots: forests.flatMap(({ roots }) => roots).sort(newestFirst((key) => agents.get(key)?.lastActivity)),
    problems: forests.flatMap(({ problems }) => problems),
    ownerOf: (record) => first((forest) => forest.ownerOf(record)),
    nameOf: (agent) => first((forest) => (forest.nameOf(agent) === agent ? undefined : forest.nameOf(agent))) ?? agent,
    totalsOf: (thread) => forests.find((forest) => forest.agents.has(thread))?.totalsOf(thread) ?? null,
    facts: forests.reduce((sum, forest) => sum + forest.facts, 0),
  };
}

const newestFirst = (lastActivity: (key: AgentKey) => number | null | undefined) => (a: AgentKey, b: AgentKey) =>
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

/**
 * Builds the forest from observations. The result does not depend on their order, repetition or partition. Every agent
 * that an observation mentions is in it. Bulk facts may be folded: the result is the same, and most of them are not
 * visited.
 */
export function link(observations: Iterable<Observation>, options: LinkOptions, folds: readonly Fold[] = []): Forest {
  const { manual = [], now } = options;
  // Every fact once, under the final name of each agent.
  const { facts, folded, ownerOf, nameOf, copiedFrom, looked } = originalsIn([...observations], folds, manual);
  // The facts of each agent, then its parent.
  const gathered = gatherAgents(facts, ownerOf, [], folded);
  const parentage = decideParents(facts, withThreads(gathered.keys()), manual, folded);
  const { agents, parentOf, infoOf, ownBehalf } = withoutOwnWork(facts, gathered, parentage);
  const { evidence, spawnCall, unseenKinds, lost } = parentage;
  // The tree: parents before children.
  const order = topDown(agents, parentOf, infoOf, (key) => spawnCall(key)?.at ?? null);
  const lastActivity = subtreeActivity(order, infoOf);
  const names = nameAll(order, parentOf, spawnCall);
  // Usage that only totals contain, and the status of each agent.
  const totalsOf = totalsIn(gathered, copiedFrom);
  const { revealed, undivided } = usageFromTotals(gathered, totalsOf);
  const states = decideStates({ facts, order, infoOf, names, parentage, copiedFrom, lastActivity }, options);

  const linked = new Map<AgentKey, LinkedAgent>();
  for (const { key, depth, children } of order) {
    const info = infoOf(key);
    const parent = parentOf(key);
    linked.set(key, {
      ...info,
      ...of(names, key),
      ...of(states, key),
      kind: info.kind ?? unseenKinds.get(key) ?? null,
      warnings: [...info.warnings, ...(lost.get(key) ?? [])],
      parent,
      depth,
      children,
      evidence: evidence.get(key) ?? [],
      spawnCall: spawnCall(key),
      lastActivity: lastActivity.get(key) ?? null,
      forkedFrom: parent === null ? (info.statedFork ?? copiedFrom.get(key) ?? null) : null,
      ownBehalf: ownBehalf.get(key) ?? [],
      revealed: revealed.get(key) ?? [],
      undivided: undivided.get(key) ?? [],
    });
  }
  const roots = order.filter((o) => o.depth === 0).map((o) => o.key);
  roots.sort(newestFirst((key) => lastActivity.get(key)));
  return {
    now,
    agents: linked,
    roots,
    problems: [...parentage.problems, ...missingThreads(order, infoOf)],
    ownerOf,
    nameOf,
    totalsOf,
    facts: looked,
  };
}

/** Every agent's thread is in the forest, too. */
const withThreads = (agents: Iterable<AgentKey>) => [...agents].flatMap((key) => [key, threadOf(key)]);

/** For maps that have an entry for every agent. */
const of = <T>(map: ReadonlyMap<AgentKey, T>, key: AgentKey) => map.get(key) as T;

function* missingThreads(order: readonly Place[], infoOf: (key: AgentKey) => GatheredAgent): Generator<Problem> {
  for (const { key, depth, children } of order) {
    if (depth === 0 && children.length > 0 && infoOf(key).files.length === 0 && infoOf(key).records === 0)
      yield { code: "thread-missing", where: key, detail: `named by ${plural(children.length, "agent")}` };
  }
}
