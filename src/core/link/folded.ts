import { type AgentKey, type CallKey, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { hashOf } from "../tools/name-table.ts";
import type { BulkFact, Fold } from "./fold.ts";
import { NAME, type NameMark } from "./fold.ts";
import type { ManualLink } from "./parents.ts";
import { sharingRecords } from "./shared-records.ts";
import { fileOf, isStated } from "./totals.ts";

/** Facts to process one by one, and agents whose bulk facts stay folded. */
export interface Parted {
  readonly facts: readonly Observation[];
  readonly folded: ReadonlyMap<AgentKey, Fold>;
}

/**
 * The bulk facts of an agent stay folded if nothing else mentions its records: they were not copied, no other origin
 * reports them, and the agent has one name. The facts of all others are processed one by one.
 */
export function partFacts(rare: readonly Observation[], folds: readonly Fold[], manual: readonly ManualLink[]): Parted {
  if (folds.length === 0) return { facts: rare, folded: new Map() };
  const isOpened = new Set<AgentKey>();
  for (const [speaker, of] of Map.groupBy(folds, (fold) => fold.speaker))
    if (of.length > 1 || !of[0]?.isExact) isOpened.add(speaker);
  const byAgent = new Map(folds.map((fold) => [fold.speaker, fold]));
  for (const o of rare) {
    if (o.type === "record" || o.type === "model-call") isOpened.add(o.speaker);
    if (o.type === "agent-aliased") isOpened.add(o.alias).add(o.agent);
    if (o.type === "file-refused") isOpened.add(o.agent);
    if (isStated(o) && fileOf(o) !== byAgent.get(o.speaker)?.path) isOpened.add(o.speaker);
  }
  for (const agent of sharingCalls(rare, folds, manual)) isOpened.add(agent);
  const threads = withSpawned(new Set([...sharingRecords(rare, folds)].map(threadOf)), rare);
  const stays = ({ speaker }: Fold) => !isOpened.has(speaker) && !threads.has(threadOf(speaker));
  const opened: BulkFact[] = [];
  for (const fold of folds) if (!stays(fold)) for (const fact of fold.facts()) opened.push(fact);
  return {
    facts: opened.length === 0 ? rare : [...rare, ...opened],
    folded: new Map([...byAgent].filter(([, fold]) => stays(fold))),
  };
}

/** Agents that share a tool call that affects the tree: both made it, or received its result. */
function sharingCalls(
  rare: readonly Observation[],
  folds: readonly Fold[],
  manual: readonly ManualLink[],
): ReadonlySet<AgentKey> {
  const [made, got] = [new Map<CallKey, Set<AgentKey>>(), new Map<CallKey, Set<AgentKey>>()];
  const note = (by: Map<CallKey, Set<AgentKey>>, call: CallKey, agent: AgentKey) =>
    by.set(call, (by.get(call) ?? new Set()).add(agent));
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

/** Those of the calls that a fold names. Visits the fewer of its names and the calls. */
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

function callsNamed(o: Observation): readonly CallKey[] {
  switch (o.type) {
    case "spawn-called":
    case "call-spawned":
    case "call-offers":
    case "call-refused":
    case "agents-stated":
    case "shell-called":
    case "shell-returned":
      return [o.call];
    case "call-aliased":
      return [o.alias, o.call];
    case "lifecycle":
      return typeof o.of === "string" ? [] : [o.of.call];
    default:
      return [];
  }
}

/** The agents that an agent spawned may show that it is a copy. */
function withSpawned(threads: Set<AgentKey>, rare: readonly Observation[]): ReadonlySet<AgentKey> {
  const spawned = threads.size === 0 ? [] : rare.filter((o) => o.type === "call-spawned");
  for (let before = -1; before !== threads.size; ) {
    before = threads.size;
    for (const o of spawned) if (threads.has(threadOf(o.speaker))) threads.add(threadOf(o.child));
  }
  return threads;
}

/** The agent whose folded records have this name. The `likely` one is looked at first. */
export function folderOf(
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
