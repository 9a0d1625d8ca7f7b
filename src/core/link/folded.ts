import { type AgentKey, type CallKey, fileOf, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { cached } from "../tools/collections.ts";
import { hashOf } from "../tools/name-table.ts";
import { type BulkFact, type Fold, NAME, type NameMark } from "./fold.ts";
import type { ManualLink } from "./parents.ts";
import { sharingRecords } from "./shared-records.ts";
import { isStated } from "./totals.ts";

/** Facts to process one by one, and agents whose bulk facts stay folded. */
interface Unfolded {
  readonly facts: readonly Observation[];
  readonly folded: ReadonlyMap<AgentKey, Fold>;
}

/**
 * The bulk facts of an agent stay folded if nothing else mentions its records: they were not copied, no other origin
 * reports them, and the agent has one name. All other folds are replaced by their facts. `rare` are the facts that are
 * never folded.
 */
export function unfold(rare: readonly Observation[], folds: readonly Fold[], manual: readonly ManualLink[]): Unfolded {
  if (folds.length === 0) return { facts: rare, folded: new Map() };
  const agents = ambiguousAgents(rare, folds);
  for (const agent of sharingCalls(rare, folds, manual)) agents.add(agent);
  const threads = withSpawned(new Set([...sharingRecords(rare, folds)].map(threadOf)), rare);
  const staysFolded = ({ speaker }: Fold) => !agents.has(speaker) && !threads.has(threadOf(speaker));
  const bulk: BulkFact[] = [];
  for (const fold of folds) if (!staysFolded(fold)) for (const fact of fold.facts()) bulk.push(fact);
  return {
    facts: bulk.length === 0 ? rare : [...rare, ...bulk],
    folded: new Map(folds.filter(staysFolded).map((fold) => [fold.speaker, fold])),
  };
}

/** Agents with several names or files, with records outside of their fold, or with an inexact fold. */
function ambiguousAgents(rare: readonly Observation[], folds: readonly Fold[]): Set<AgentKey> {
  const byAgent = Map.groupBy(folds, ({ speaker }) => speaker);
  const agents = new Set<AgentKey>();
  for (const [speaker, [fold, other]] of byAgent) if (other !== undefined || !fold?.isExact) agents.add(speaker);
  for (const o of rare) {
    if (o.type === "record" || o.type === "model-call") agents.add(o.speaker);
    if (o.type === "agent-aliased") agents.add(o.alias).add(o.agent);
    if (o.type === "file-refused") agents.add(o.agent);
    if (isStated(o) && fileOf(o.id) !== byAgent.get(o.speaker)?.at(-1)?.path) agents.add(o.speaker);
  }
  return agents;
}

/** Agents that share a tool call that affects the tree: both made it, or received its result. */
function sharingCalls(
  rare: readonly Observation[],
  folds: readonly Fold[],
  manual: readonly ManualLink[],
): ReadonlySet<AgentKey> {
  const [made, got] = [new Map<CallKey, Set<AgentKey>>(), new Map<CallKey, Set<AgentKey>>()];
  const note = (by: Map<CallKey, Set<AgentKey>>, call: CallKey, agent: AgentKey) =>
    cached(by, call, () => new Set()).add(agent);
  for (const o of rare) {
    if (o.type === "spawn-called") note(made, o.call, o.speaker);
    if (o.type !== "record") continue;
    for (const { call } of o.calls) note(made, call, o.speaker);
    for (const { call } of o.results) note(got, call, o.speaker);
  }
  const calls = new Set([...rare.flatMap(callsNamed), ...manual.flatMap((link) => link.call ?? [])]);
  const hashed = new Map([...calls].map((call) => [hashOf(call), call]));
  for (const fold of folds) {
    for (const call of namedIn(fold, hashed, NAME.call)) note(made, call, fold.speaker);
    for (const call of namedIn(fold, hashed, NAME.result)) note(got, call, fold.speaker);
  }
  const sharing = new Set<AgentKey>();
  for (const call of calls)
    for (const agents of [made.get(call), got.get(call)])
      if (agents !== undefined && agents.size > 1) for (const agent of agents) sharing.add(agent);
  return sharing;
}

/** The calls that a fold names. Visits the names or the calls, whichever are fewer. */
function* namedIn(fold: Fold, calls: ReadonlyMap<number, CallKey>, mark: NameMark): Generator<CallKey> {
  if (fold.nameCount > calls.size) {
    for (const [hashed, call] of calls) if (fold.names(hashed, mark)) yield call;
    return;
  }
  for (const hashed of fold.hashes(mark)) {
    const call = calls.get(hashed);
    if (call !== undefined) yield call;
  }
}

/** The tool calls that a fact about the tree names. */
function callsNamed(o: Observation): readonly CallKey[] {
  if (o.type === "call-aliased") return [o.alias, o.call];
  if (o.type === "lifecycle") return typeof o.of === "string" ? [] : [o.of.call];
  return "call" in o && o.call !== undefined ? [o.call] : [];
}

/** Adds the threads that agents of these threads spawned: they may show that their parent is a copy. */
function withSpawned(threads: ReadonlySet<AgentKey>, rare: readonly Observation[]): ReadonlySet<AgentKey> {
  if (threads.size === 0) return threads;
  const all = new Set(threads);
  const children = Map.groupBy(
    rare.filter((o) => o.type === "call-spawned"),
    (o) => threadOf(o.speaker),
  );
  // Grows during the loop.
  for (const thread of all) for (const { child } of children.get(thread) ?? []) all.add(threadOf(child));
  return all;
}

/** The agent whose folded records contain this name. The `likely` one is checked first. */
export function holderOf(
  folded: ReadonlyMap<AgentKey, Fold>,
  name: string,
  mark: NameMark,
  likely?: AgentKey,
): AgentKey | undefined {
  if (folded.size === 0) return undefined;
  const hashed = hashOf(name);
  if (likely !== undefined && folded.get(likely)?.names(hashed, mark)) return likely;
  for (const [agent, fold] of folded) if (fold.names(hashed, mark)) return agent;
  return undefined;
}
