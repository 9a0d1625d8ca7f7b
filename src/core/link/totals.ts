import { fileOf, type RecordKey, recordIn } from "../facts/ids.ts";
import type { Observation, ObservationOf } from "../facts/observation.ts";
import type { ModelCallMissing, ModelTotal, TotalStated } from "../facts/totals.ts";
import { addAmounts } from "../facts/usage.ts";
import type { Fold } from "./fold.ts";

/** The model name if a product states one sum for all models. */
export const ALL_MODELS = "all models";

/** A total of the product, with its time range according to the surrounding records. */
export interface StatedTotal extends Omit<TotalStated, "type"> {
  /** Everything until then was known when it was written; null if nothing before it has a time. */
  readonly after: number | null;
  /** It was written before this; null if nothing with a time follows it. */
  readonly before: number | null;
}

export interface UnrecordedCall extends Omit<ModelCallMissing, "type"> {
  readonly at: number | null;
  /** The record that shows it. */
  readonly record: RecordKey | null;
}

/** Facts whose meaning depends on the times of the surrounding facts in the file. */
export const isStated = (f: Observation): f is ObservationOf<"total-stated" | "model-call-missing"> =>
  f.type === "total-stated" || f.type === "model-call-missing";

/** The totals of one thread and the evidence of unrecorded calls, from its own records, including those of `fold`. */
export function readTotals(
  facts: readonly Observation[],
  fold?: Fold,
): { readonly totals: readonly StatedTotal[]; readonly unrecorded: readonly UnrecordedCall[] } {
  if (!facts.some(isStated)) return { totals: [], unrecorded: [] };
  const [totals, unrecorded]: [StatedTotal[], UnrecordedCall[]] = [[], []];
  for (const [file, list] of Map.groupBy(facts, ({ id }) => fileOf(id))) {
    const inOrder = list.toSorted(byPlace);
    const before = earliestLater(inOrder);
    let passed: number | null = null;
    for (const [i, fact] of inOrder.entries()) {
      if (fact.at !== null) passed = Math.max(passed ?? fact.at, fact.at);
      if (!isStated(fact)) continue;
      const folded = fold?.path === file ? fold.around(fact) : { after: null, before: null };
      const after = latest(passed, folded.after);
      if (fact.type === "total-stated") {
        const { byModel, costUsd, began, activeMs, running, printed } = fact;
        totals.push({
          byModel,
          costUsd,
          began,
          activeMs,
          ...(running === undefined ? {} : { running }),
          ...(printed === undefined ? {} : { printed }),
          after: latest(after, writtenAtLeast(fact)),
          before: earliest(before[i] ?? null, folded.before),
        });
      }
      if (fact.type === "model-call-missing")
        unrecorded.push({
          what: fact.what,
          on: fact.on,
          one: fact.one,
          at: fact.at ?? after,
          record: recordIn(fact) ?? null,
        });
    }
  }
  return { totals: ofAllProcesses(totals.sort((a, b) => (a.after ?? 0) - (b.after ?? 0))), unrecorded };
}

/** Processes print their own usage: the sum of their last totals is that of the thread. */
function ofAllProcesses(inOrder: readonly StatedTotal[]): readonly StatedTotal[] {
  const last = new Map(
    inOrder.flatMap((total) => (total.printed === undefined ? [] : [[total.printed.process, total] as const])),
  );
  const [first, ...more] = last.values();
  return first === undefined ? inOrder : [...inOrder.filter((t) => t.printed === undefined), more.reduce(both, first)];
}

const both = (a: StatedTotal, b: StatedTotal): StatedTotal => ({
  ...b,
  byModel: sumOfModels([...a.byModel, ...b.byModel]),
  costUsd: a.costUsd === null || b.costUsd === null ? null : a.costUsd + b.costUsd,
  after: latest(a.after, b.after),
  ...(a.printed === undefined || b.printed === undefined
    ? {}
    : { printed: { ...b.printed, own: addAmounts(a.printed.own, b.printed.own) } }),
});

/** One total for each model. */
export const sumOfModels = (totals: readonly ModelTotal[]): ModelTotal[] =>
  [...Map.groupBy(totals, ({ model }) => model).values()].map((same) => same.reduce(bothOfModel));

function bothOfModel(a: ModelTotal, b: ModelTotal): ModelTotal {
  const sum = { model: a.model, amounts: addAmounts(a.amounts, b.amounts) };
  return a.costUsd === undefined || b.costUsd === undefined ? sum : { ...sum, costUsd: a.costUsd + b.costUsd };
}

const earliest = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.min(a, b));
const latest = (a: number | null, b: number | null) => (a === null || b === null ? (a ?? b) : Math.max(a, b));

/** Its processes ran one after the other, possibly with pauses. */
const writtenAtLeast = ({ began, activeMs }: TotalStated) =>
  began === null || activeMs === null ? null : began + activeMs;

/** In file order. */
export const byPlace = (a: Observation, b: Observation) =>
  a.order - b.order || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/** For each fact, the earliest time after it. */
function earliestLater(inOrder: readonly Observation[]): (number | null)[] {
  const times: (number | null)[] = [];
  let earliest: number | null = null;
  for (const fact of inOrder.toReversed()) {
    times.push(earliest);
    if (fact.at !== null) earliest = Math.min(earliest ?? fact.at, fact.at);
  }
  return times.reverse();
}
