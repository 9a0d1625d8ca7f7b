import type { Fold } from "./fold.ts";
import { placeOf, type RecordKey } from "./ids.ts";
import type { CallUnrecorded, Observation, ObservationOf, TotalStated } from "./observation.ts";

/** Stands for the model where a product states one sum for all of them. */
export const ALL_MODELS = "all models";

/** A total that the product stated, and when that was, as nearly as the records around it tell. */
export interface StatedTotal extends Omit<TotalStated, "type"> {
  /** Everything until then was known when it was written; null if nothing before it has a time. */
  readonly after: number | null;
  /** It was written before this; null if nothing with a time follows it. */
  readonly before: number | null;
}

export interface UnrecordedCall extends Omit<CallUnrecorded, "type"> {
  readonly at: number | null;
  /** The record in which it shows. */
  readonly record: RecordKey | null;
}

/** What it says depends on when the facts around it in its file were written. */
export const isStated = (f: Observation): f is ObservationOf<"total-stated" | "call-unrecorded"> => f.type === "total-stated" || f.type === "call-unrecorded";

/** The totals of one thread and the traces of calls without a record, out of what its own records say, those of `fold` among them. */
export function readTotals(
  facts: readonly Observation[],
  fold?: Fold,
): { readonly totals: readonly StatedTotal[]; readonly unrecorded: readonly UnrecordedCall[] } {
  if (!facts.some(isStated)) return { totals: [], unrecorded: [] };
  const [totals, unrecorded]: [StatedTotal[], UnrecordedCall[]] = [[], []];
  for (const [file, list] of Map.groupBy(facts, fileOf)) {
    const inOrder = list.toSorted(byPlace);
    const before = earliestLater(inOrder);
    let passed: number | null = null;
    for (const [i, fact] of inOrder.entries()) {
      if (fact.at !== null) passed = Math.max(passed ?? fact.at, fact.at);
      if (!isStated(fact)) continue;
      const folded = fold?.path === file ? fold.around(fact) : { after: null, before: null };
      const after = latest(passed, folded.after);
      if (fact.type === "total-stated") {
        const { byModel, costUsd, began, activeMs, running } = fact;
        const stated = { byModel, costUsd, began, activeMs, ...(running === undefined ? {} : { running }) };
        totals.push({ ...stated, after: latest(after, writtenAtLeast(fact)), before: earliest(before[i] ?? null, folded.before) });
      }
      if (fact.type === "call-unrecorded") unrecorded.push({ what: fact.what, on: fact.on, one: fact.one, at: fact.at ?? after, record: fact.keys[0] ?? null });
    }
  }
  return { totals: totals.sort((a, b) => (a.after ?? 0) - (b.after ?? 0)), unrecorded };
}

const earliest = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));
const latest = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b));

/** The processes in it ran one after the other, perhaps with pauses between them. */
const writtenAtLeast = ({ began, activeMs }: TotalStated) => (began === null || activeMs === null ? null : began + activeMs);

/** As they stand in their file. */
export const byPlace = (a: Observation, b: Observation) => a.order - b.order || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

export const fileOf = (fact: Observation) => placeOf(fact.id).replace(/:\d+$/, "");

/** For each fact, the earliest time that stands below it. */
function earliestLater(inOrder: readonly Observation[]): (number | null)[] {
  const times: (number | null)[] = [];
  let earliest: number | null = null;
  for (const fact of inOrder.toReversed()) {
    times.push(earliest);
    if (fact.at !== null) earliest = Math.min(earliest ?? fact.at, fact.at);
  }
  return times.reverse();
}
