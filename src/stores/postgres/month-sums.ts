import type { ShipmentDocument } from "../../core/ports/shipment.ts";
import type { SpentRow } from "../../core/views/stats.ts";
import { ChangingSums, type PackedSums } from "../../core/views/stats-sums.ts";
import { INGEST } from "./ingest-statements.ts";
import { type OwnerQuery, threadsOf } from "./shipment-rows.ts";
import { monthOfDay } from "./values.ts";

/** Rows of usage as JSON, by thread. */
export type Spent = ReadonlyMap<string, readonly { readonly row: string }[]>;

/** Threads whose usage a shipment may change. */
export const spendersIn = (documents: readonly ShipmentDocument[]) => [
  ...new Set(
    threadsOf(documents.filter((one) => one.is === "removed" || (one.is === "detail" && one.what === "spent"))),
  ),
];

/** By month: the rows of each changed thread that are removed and added. */
function changesOf(before: Spent, after: Spent) {
  const months = new Map<string, (readonly [readonly SpentRow[], 1 | -1])[]>();
  let rows = 0;
  for (const thread of new Set([...before.keys(), ...after.keys()])) {
    const texts = [before, after].map((spent) => (spent.get(thread) ?? []).map(({ row }) => row));
    const [old = [], now = []] = texts;
    if (old.toSorted().join() === now.toSorted().join()) continue;
    rows += now.length - old.length;
    for (const [list, sign] of [
      [old, -1],
      [now, 1],
    ] as const)
      for (const [month, some] of Map.groupBy(
        list.map((row) => JSON.parse(row) as SpentRow),
        ({ day }) => monthOfDay(day),
      ))
        months.set(month, [...(months.get(month) ?? []), [some, sign]]);
  }
  return { rows, months };
}

/** The usage of these threads, by thread. */
export async function spentOf(query: OwnerQuery, threads: readonly string[]): Promise<Spent> {
  if (threads.length === 0) return new Map();
  const rows = await query<{ thread: string; row: string }>(INGEST.spentOfThreads, threads);
  return Map.groupBy(rows, ({ thread }) => thread);
}

/** Adds to the sums of each month what the usage of threads has changed by. */
export async function sumUp(query: OwnerQuery, before: Spent, after: Spent): Promise<void> {
  const { rows, months } = changesOf(before, after);
  if (months.size === 0) return;
  const stored = await query<{ month: string; sums: string }>(INGEST.months, [...months.keys()]);
  const known = new Map(stored.map(({ month, sums }) => [month, JSON.parse(sums) as PackedSums]));
  const changed = [...months].map(([month, changes]) => {
    const sums = new ChangingSums(known.get(month) ?? null);
    for (const [list, sign] of changes) sums.change(list, sign);
    return { month, sums: sums.packed };
  });
  const kept = changed.filter(({ sums }) => sums !== null);
  const empty = changed.filter(({ sums }) => sums === null).map(({ month }) => month);
  const texts = kept.map(({ sums }) => JSON.stringify(sums));
  const names = kept.map(({ month }) => month);
  if (kept.length > 0) await query(INGEST.saveMonths, names, texts);
  if (empty.length > 0) await query(INGEST.dropMonths, empty);
  if (rows !== 0) await query(INGEST.countSpent, rows);
}
