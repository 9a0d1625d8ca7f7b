import { type AgentKey, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import type { Problem } from "../facts/problem.ts";
import { plural } from "../tools/format.ts";
import type { Fold } from "./fold.ts";
import { type Forest, type LinkedAgent, newestFirst } from "./forest.ts";
import { type GatheredAgent, gatherAgents } from "./gather.ts";
import { type WithoutInternalWork, withoutInternalWork } from "./internal-work.ts";
import { originalsIn } from "./originals.ts";
import { decideParents, type ManualLink, type Parentage } from "./parents.ts";
import { totalsIn, type UsageFromTotals, usageFromTotals } from "./reconcile.ts";
import { type AgentNames, nameAll, type Place, subtreeActivity, topDown } from "./shape.ts";
import { type HomeOf, startedThreads } from "./shell-runs.ts";
import { type AgentState, decideStates, type StateOptions } from "./states.ts";

export interface LinkOptions extends StateOptions {
  readonly manual?: readonly ManualLink[];
  /** Without it all files have the same home. */
  readonly homeOf?: HomeOf;
}

/**
 * Builds the forest from observations. The result does not depend on their order, repetition or partition. Every agent
 * that an observation mentions is in it. Bulk facts may be folded: the result is the same, and most of them are not
 * visited.
 */
export function link(observations: Iterable<Observation>, options: LinkOptions, folds: readonly Fold[] = []): Forest {
  const { manual = [], now } = options;
  // Every fact once, under the final name of each agent.
  const { facts, folded, ownerOf, nameOf, copiedFrom, factCount } = originalsIn([...observations], folds, manual);
  // What is known of each agent, and its parent. Internal work of the product is not an agent.
  const gathered = gatherAgents(facts, ownerOf, folded);
  const started = startedThreads(facts, gathered, options.homeOf);
  const parentage = decideParents(facts, withThreads(gathered.keys()), manual, folded, started);
  const { agents, parentOf, infoOf, ownBehalf } = withoutInternalWork(facts, gathered, parentage);
  // The tree, parents before children, and the names in it.
  const order = topDown(agents, parentOf, infoOf, (key) => parentage.spawnCall(key)?.at ?? null);
  const lastActivity = subtreeActivity(order, infoOf);
  const names = nameAll(order, parentOf, parentage.spawnCall, parentage.isExternal);
  // Usage that only totals contain, and the status of each agent.
  const totalsOf = totalsIn(gathered, copiedFrom);
  const usage = usageFromTotals(gathered, totalsOf);
  const states = decideStates({ facts, order, infoOf, names, parentage, copiedFrom, lastActivity }, options);

  const stages = { infoOf, parentOf, parentage, ownBehalf, names, states, lastActivity, copiedFrom, ...usage };
  const roots = order.filter(({ depth }) => depth === 0).map(({ key }) => key);
  return {
    now,
    agents: new Map(order.map((place) => [place.key, linkedAgent(place, stages)])),
    roots: roots.sort(newestFirst((key) => lastActivity.get(key))),
    problems: [...parentage.problems, ...missingThreads(order, infoOf)],
    ownerOf,
    nameOf,
    totalsOf,
    facts: factCount,
  };
}

/** What the stages found about each agent. */
interface Stages extends Omit<WithoutInternalWork, "agents">, UsageFromTotals {
  readonly parentage: Parentage;
  readonly names: ReadonlyMap<AgentKey, AgentNames>;
  readonly states: ReadonlyMap<AgentKey, AgentState>;
  readonly lastActivity: ReadonlyMap<AgentKey, number>;
  readonly copiedFrom: ReadonlyMap<AgentKey, AgentKey>;
}

function linkedAgent({ key, depth, children }: Place, stages: Stages): LinkedAgent {
  const { parentage, lastActivity, copiedFrom, ownBehalf, revealed, undivided } = stages;
  const [info, parent] = [stages.infoOf(key), stages.parentOf(key)];
  const isExternal = parentage.isExternal(key);
  return {
    ...info,
    ...(stages.names.get(key) as AgentNames),
    ...(stages.states.get(key) as AgentState),
    kind: isExternal ? "external" : (info.kind ?? parentage.unseen.get(key) ?? null),
    warnings: [...info.warnings, ...(parentage.warnings.get(key) ?? []), ...misplaced(info, stages.parentOf)],
    parent,
    depth,
    children,
    evidence: parentage.evidence.get(key) ?? [],
    spawnCall: parentage.spawnCall(key),
    refused: parentage.refused.get(key) ?? [],
    lastActivity: lastActivity.get(key) ?? null,
    forkedFrom: parent === null || isExternal ? (info.statedFork ?? copiedFrom.get(key) ?? null) : null,
    ownBehalf: ownBehalf.get(key) ?? [],
    revealed: revealed.get(key) ?? [],
    undivided: undivided.get(key) ?? [],
    undecided: parent === null ? (parentage.undecided.get(key) ?? null) : null,
  };
}

/** The product states a depth that contradicts the only known place of the agent. */
function misplaced({ key, statedDepth }: GatheredAgent, parentOf: Stages["parentOf"]): string[] {
  if (statedDepth === null) return [];
  let depth = 0;
  for (let above: AgentKey | null = key; above !== null && above !== threadOf(key); above = parentOf(above)) depth += 1;
  return depth >= statedDepth
    ? []
    : [`it was started by another agent (the product states depth ${statedDepth}), but no record names that agent`];
}

/** Every agent's thread is in the forest, too. */
const withThreads = (agents: Iterable<AgentKey>) => [...agents].flatMap((key) => [key, threadOf(key)]);

function* missingThreads(order: readonly Place[], infoOf: (key: AgentKey) => GatheredAgent): Generator<Problem> {
  for (const { key, depth, children } of order) {
    if (depth === 0 && children.length > 0 && infoOf(key).files.length === 0 && infoOf(key).records === 0)
      yield { code: "thread-missing", where: key, detail: `named by ${plural(children.length, "agent")}` };
  }
}
