import type { Group, SpentRow } from "../../core/views/stats.ts";
import { type PackedSums, StatsSums } from "../../core/views/stats-sums.ts";
import type { Queries } from "./database.ts";
import { eachOwner } from "./each-owner.ts";
import { READER } from "./reader-statements.ts";
import { monthOfDay } from "./values.ts";

/** Up to this many rows are summed one by one, which is exact; of more, the sums of each month are read. */
const MAX_ROWS = 20_000;
/** Owners whose rows are in memory at once. */
const AT_ONCE = 64;

/** A range of days as months that lie in it completely, and the days before them. */
export interface Period {
  /** The first of these months; null: all. */
  readonly months: string | null;
  /** The days before it; null if there are none. */
  readonly days: { readonly from: string; readonly to: string } | null;
}

/** The first day of the month after this day. */
export function monthAfter(day: string): string {
  const [year = 0, month = 0] = day.split("-").map(Number);
  return new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
}

/** From this day (UTC) on; null: everything. */
export function periodFrom(since: string | null): Period {
  if (since === null || since === monthOfDay(since)) return { months: since, days: null };
  const next = monthAfter(since);
  return { months: next, days: { from: since, to: next } };
}

/** Reads what agents have used. Each query is about one owner, except the one that counts rows. */
export class UsageReader {
  readonly #queries: Queries;
  readonly #maxRows: number;

  constructor(queries: Queries, maxRows = MAX_ROWS) {
    this.#queries = queries;
    this.#maxRows = maxRows;
  }

  /** Whether there are too many rows to sum them up one by one. */
  async isLarge(owners: readonly string[]): Promise<boolean> {
    const rows = await this.#queries.all<{ rows: number }>(READER.spentRows, [[...owners]]);
    return rows.reduce((sum, one) => sum + one.rows, 0) > this.#maxRows;
  }

  /** The rows from a day on, and before another one; those of an owner are together. */
  async *rows(
    owners: readonly string[],
    from: string | null,
    to: string | null = null,
  ): AsyncGenerator<{ readonly owner: string; readonly rows: readonly SpentRow[] }> {
    for await (const { owner, rows } of this.#inTurn<{ row: string }>(owners, READER.spent, [from, to]))
      yield { owner, rows: rows.map(({ row }) => JSON.parse(row) as SpentRow) };
  }

  /** The sums of each month from this one on, and before another one. */
  async *months(
    owners: readonly string[],
    from: string | null,
    to: string | null = null,
  ): AsyncGenerator<{ readonly owner: string; readonly sums: readonly PackedSums[] }> {
    for await (const { owner, rows } of this.#inTurn<{ sums: string }>(owners, READER.months, [from, to]))
      yield { owner, sums: rows.map(({ sums }) => JSON.parse(sums) as PackedSums) };
  }

  /**
   * Usage from this day (UTC) on. If there is much of it, a thread counts in each month in which it worked, durations
   * are rounded to a tenth, and of each person and month only the first 200 templates are told apart.
   */
  async stats(owners: readonly string[], since: string | null, groups: readonly Group[]): Promise<StatsSums> {
    const sums = new StatsSums(groups);
    const isLarge = await this.isLarge(owners);
    const { months, days } = isLarge ? periodFrom(since) : { months: null, days: { from: since, to: null } };
    if (days !== null) for await (const { rows } of this.rows(owners, days.from, days.to)) sums.add(rows);
    if (isLarge) for await (const one of this.months(owners, months)) for (const packed of one.sums) sums.merge(packed);
    return sums;
  }

  /** The same statement for each owner, some at a time. */
  async *#inTurn<Row extends object>(
    owners: readonly string[],
    statement: string,
    parameters: readonly (string | null)[],
  ): AsyncGenerator<{ readonly owner: string; readonly rows: readonly Row[] }> {
    for (let at = 0; at < owners.length; at += AT_ONCE) {
      const found = await eachOwner<Row>(this.#queries, owners.slice(at, at + AT_ONCE), statement, () => parameters);
      for (const [owner, list] of Map.groupBy(found, (one) => one.owner))
        yield { owner, rows: list.map(({ row }) => row) };
    }
  }
}
