import { totalTokens } from "../facts/usage.ts";
import type { Status } from "../link/status.ts";
import { type Durations, GROUPS, type Group, MAIN, type SpentRow, type StatsLine, type StatsPart } from "./stats.ts";

/** The numbers of a part of the usage. `costUsd` is the known part; rows and calls without a price are counted. */
const FIELDS = [
  "agents",
  "durationMs",
  "calls",
  "inputTokens",
  "outputTokens",
  "reasoningTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "cacheWrite1hTokens",
  "costUsd",
  "unpricedRows",
  "unpricedCalls",
] as const;
const SIZE = FIELDS.length;
/** Where the numbers of each part of a line begin; after them its rows and its threads. */
const [ALL, FAILED, DELEGATED, ROWS, THREADS] = [0, SIZE, 2 * SIZE, 3 * SIZE, 3 * SIZE + 1];
const LENGTH = THREADS + 1;

/** A line as it is stored: numbers without the zeros at the end, agents by status, and pairs of bucket and count. */
export type PackedLine = readonly [readonly number[], Readonly<Record<string, number>>, readonly number[]];

/** The sums of one line. */
class LineSum {
  readonly numbers: number[] = new Array<number>(LENGTH).fill(0);
  readonly #statuses: Record<string, number> = {};
  /** Of single agents; a packed line has numbers of agents by bucket instead. */
  readonly #durations: number[] = [];
  readonly #buckets = new Map<number, number>();
  /** Threads that were added since the last `seal`. */
  readonly #threads = new Set<string>();

  add(row: SpentRow): void {
    this.#addRow(row, 1);
    if (row.agents > 0) this.#durations.push(row.durationMs);
    this.#threads.add(row.thread);
  }

  /** A thread is in one group of rows that were added between two calls. */
  seal(): void {
    this.numbers[THREADS] = this.#at(THREADS) + this.#threads.size;
    this.#threads.clear();
  }

  /** Adds the row, or removes it if `sign` is -1. Threads are counted by the caller. */
  change(row: SpentRow, sign: 1 | -1): void {
    this.#addRow(row, sign);
    if (row.agents > 0) this.#addBucket(bucketOf(row.durationMs), sign);
  }

  merge([numbers, statuses, buckets]: PackedLine): void {
    for (let i = 0; i < numbers.length; i += 1) this.numbers[i] = this.#at(i) + (numbers[i] ?? 0);
    for (const status in statuses) this.#statuses[status] = (this.#statuses[status] ?? 0) + (statuses[status] ?? 0);
    for (let i = 0; i < buckets.length; i += 2) this.#addBucket(buckets[i] ?? 0, buckets[i + 1] ?? 0);
  }

  #addAt(i: number, value: number): void {
    this.numbers[i] = (this.numbers[i] ?? 0) + value;
  }

  #at(i: number): number {
    return this.numbers[i] ?? 0;
  }

  #addBucket(bucket: number, count: number): void {
    const sum = (this.#buckets.get(bucket) ?? 0) + count;
    if (sum === 0) this.#buckets.delete(bucket);
    else this.#buckets.set(bucket, sum);
  }

  #addRow(row: SpentRow, sign: 1 | -1): void {
    this.#addPart(ALL, row, sign);
    if (row.status === "errored") this.#addPart(FAILED, row, sign);
    if (row.type !== MAIN) this.#addPart(DELEGATED, row, sign);
    this.numbers[ROWS] = this.#at(ROWS) + sign;
    if (row.agents > 0) this.#statuses[row.status] = (this.#statuses[row.status] ?? 0) + sign * row.agents;
  }

  #addPart(from: number, { agents, durationMs, usage }: SpentRow, sign: 1 | -1): void {
    const isPriced = usage.costUsd !== null;
    this.#addAt(from, sign * agents);
    this.#addAt(from + 1, sign * durationMs);
    this.#addAt(from + 2, sign * usage.calls);
    this.#addAt(from + 3, sign * usage.inputTokens);
    this.#addAt(from + 4, sign * usage.outputTokens);
    this.#addAt(from + 5, sign * usage.reasoningTokens);
    this.#addAt(from + 6, sign * usage.cacheReadTokens);
    this.#addAt(from + 7, sign * usage.cacheWriteTokens);
    this.#addAt(from + 8, sign * usage.cacheWrite1hTokens);
    this.#addAt(from + 9, sign * (usage.costUsd ?? 0));
    this.#addAt(from + 10, isPriced ? 0 : sign);
    this.#addAt(from + 11, isPriced ? 0 : sign * usage.calls);
  }

  get rows(): number {
    return this.#at(ROWS);
  }

  get packed(): PackedLine {
    const end = this.numbers.findLastIndex((number) => number !== 0) + 1;
    const statuses = Object.fromEntries(Object.entries(this.#statuses).filter(([, count]) => count !== 0));
    return [this.numbers.slice(0, end), statuses, [...this.#buckets].flat()];
  }

  line(key: string | null): StatsLine {
    const byStatus = Object.fromEntries(Object.entries(this.#statuses).filter(([, count]) => count > 0));
    return {
      key,
      ...this.#part(ALL),
      byStatus: byStatus as Partial<Record<Status, number>>,
      failed: this.#part(FAILED),
      delegated: this.#part(DELEGATED),
      durations: this.#quantiles(),
      threads: this.#at(THREADS),
    };
  }

  #part(from: number): StatsPart {
    const value = (offset: number) => this.#at(from + offset);
    return {
      agents: value(0),
      durationMs: value(1),
      usage: {
        calls: value(2),
        inputTokens: value(3),
        outputTokens: value(4),
        reasoningTokens: value(5),
        cacheReadTokens: value(6),
        cacheWriteTokens: value(7),
        cacheWrite1hTokens: value(8),
        costUsd: value(10) > 0 ? null : value(9),
      },
      knownCostUsd: value(9),
    };
  }

  #quantiles(): Durations | null {
    const exact: [number, number][] = this.#durations.map((ms) => [ms, 1]);
    const about: [number, number][] = [...this.#buckets].map(([bucket, count]) => [durationIn(bucket), count]);
    const all = [...exact, ...about].sort(([a], [b]) => a - b);
    const last = all.reduce((sum, [, count]) => sum + count, 0) - 1;
    if (last < 0) return null;
    const at = (share: number) => {
      let before = 0;
      for (const [ms, count] of all) {
        before += count;
        if (before > Math.round(last * share)) return ms;
      }
      return all.at(-1)?.[0] ?? 0;
    };
    return { least: at(0), quarter: at(0.25), median: at(0.5), threeQuarters: at(0.75), most: at(1) };
  }
}

/** Durations in a bucket differ by a tenth. */
const WIDTH = Math.log(1.1);
const bucketOf = (ms: number) => (ms < 1 ? 0 : 1 + Math.round(Math.log(ms) / WIDTH));
const durationIn = (bucket: number) => (bucket === 0 ? 0 : Math.round(Math.exp((bucket - 1) * WIDTH)));

/** The sums of many rows by several groups, row by row: rows need not be in memory together. */
export class StatsSums {
  readonly #total = new LineSum();
  readonly #groups: ReadonlyMap<Group, Map<string | null, LineSum>>;
  /** Sums of months were merged: a thread counts in each of its months, and durations are rounded. */
  isApproximate = false;

  constructor(groups: readonly Group[] = GROUPS) {
    this.#groups = new Map(groups.map((group) => [group, new Map<string | null, LineSum>()]));
  }

  /** Rows of the same thread must not be added in several calls. */
  add(rows: Iterable<SpentRow>): void {
    const touched = new Set([this.#total]);
    for (const row of rows) {
      this.#total.add(row);
      for (const [group, lines] of this.#groups) {
        if (!isCountedBy(group, row)) continue;
        const line = lineIn(lines, row[group]);
        line.add(row);
        touched.add(line);
      }
    }
    for (const line of touched) line.seal();
  }

  merge({ total, by }: PackedSums): void {
    this.isApproximate = true;
    this.#total.merge(total);
    for (const [group, lines] of this.#groups)
      for (const [key, line] of by[group] ?? []) lineIn(lines, key).merge(line);
  }

  total(): StatsLine {
    return this.#total.line(null);
  }

  /** Highest cost first, days in order. */
  by(group: Group): StatsLine[] {
    const lines = [...(this.#groups.get(group) ?? [])].map(([key, line]) => line.line(key));
    return lines.sort(group === "day" ? byName : byWeight);
  }
}

/** An agent that never used a model has no line there: its model is not unknown. */
const isCountedBy = (group: Group, { model, usage }: SpentRow): boolean =>
  group !== "model" || model !== null || usage.calls > 0 || totalTokens(usage) > 0;

function lineIn(lines: Map<string | null, LineSum>, key: string | null): LineSum {
  const known = lines.get(key);
  if (known !== undefined) return known;
  const line = new LineSum();
  lines.set(key, line);
  return line;
}

/** Sums as they are stored. */
export interface PackedSums {
  readonly total: PackedLine;
  readonly by: Partial<Record<Group, readonly (readonly [string | null, PackedLine])[]>>;
  /** Groups that have no room for further lines. */
  readonly full: readonly Group[];
}

/** Lines of a group in stored sums; further ones are counted together, as `OTHER`. */
const MAX_LINES = 200;
export const OTHER = "(other)";

/** Sums that are changed as the rows of threads change. */
export class ChangingSums {
  readonly #total = new LineSum();
  readonly #groups: ReadonlyMap<Group, Map<string | null, LineSum>>;
  readonly #full: Set<Group>;

  constructor(stored: PackedSums | null) {
    this.#groups = new Map(GROUPS.map((group) => [group, new Map<string | null, LineSum>()]));
    this.#full = new Set(stored?.full);
    if (stored === null) return;
    this.#total.merge(stored.total);
    for (const [group, lines] of this.#groups)
      for (const [key, line] of stored.by[group] ?? []) lineIn(lines, key).merge(line);
  }

  /** Adds all rows of a thread, or removes them if `sign` is -1. */
  change(rows: readonly SpentRow[], sign: 1 | -1): void {
    const touched = new Set<LineSum>();
    for (const row of rows) {
      const groups = GROUPS.filter((group) => isCountedBy(group, row));
      const lines = [this.#total, ...groups.map((group) => this.#lineOf(group, row[group]))];
      for (const line of lines) {
        line.change(row, sign);
        touched.add(line);
      }
    }
    for (const { numbers } of touched) numbers[THREADS] = (numbers[THREADS] ?? 0) + sign;
  }

  /** Once a group is full it stays so: what was counted as `OTHER` is removed from there. */
  #lineOf(group: Group, key: string | null): LineSum {
    const lines = this.#groups.get(group) ?? new Map<string | null, LineSum>();
    if (group === "day" || lines.has(key)) return lineIn(lines, key);
    if (lines.size >= MAX_LINES) this.#full.add(group);
    return lineIn(lines, this.#full.has(group) ? OTHER : key);
  }

  /** Null if there are no rows. */
  get packed(): PackedSums | null {
    if (this.#total.rows === 0) return null;
    const by = [...this.#groups].map(([group, lines]) => [
      group,
      [...lines].filter(([, line]) => line.rows > 0).map(([key, line]) => [key, line.packed]),
    ]);
    return { total: this.#total.packed, by: Object.fromEntries(by) as PackedSums["by"], full: [...this.#full] };
  }
}

/** The number of rows in stored sums. */
export const rowsIn = ({ total: [numbers] }: PackedSums) => numbers[ROWS] ?? 0;

/** A line of stored sums as the costs page needs it. */
export interface CostSum {
  readonly costUsd: number;
  readonly unpricedCalls: number;
  readonly tokens: number;
  readonly calls: number;
  readonly threads: number;
}

export function costIn([numbers]: PackedLine): CostSum {
  const at = (i: number) => numbers[i] ?? 0;
  // Input, output, cache reads and cache writes, as `totalTokens`.
  const tokens = at(3) + at(4) + at(6) + at(7);
  return { costUsd: at(9), unpricedCalls: at(11), tokens, calls: at(2), threads: at(THREADS) };
}

const byName = (a: StatsLine, b: StatsLine) => ((a.key ?? "") < (b.key ?? "") ? -1 : 1);
/** Highest cost first. */
export const byWeight = (a: StatsLine, b: StatsLine) =>
  b.knownCostUsd - a.knownCostUsd || totalTokens(b.usage) - totalTokens(a.usage) || byName(a, b);

export function statsTotal(rows: Iterable<SpentRow>): StatsLine {
  const sums = new StatsSums([]);
  sums.add(rows);
  return sums.total();
}

/** Sums rows by one field: highest cost first, days in order. */
export function statsBy(rows: Iterable<SpentRow>, by: Group): StatsLine[] {
  const sums = new StatsSums([by]);
  sums.add(rows);
  return sums.by(by);
}

/** The threads of one line, by URI: highest cost first. */
export function threadsBehind(rows: Iterable<SpentRow>, by: Group, key: string | null): StatsLine[] {
  const lines = new Map<string | null, LineSum>();
  for (const row of rows) if (row[by] === key && isCountedBy(by, row)) lineIn(lines, row.thread).add(row);
  for (const line of lines.values()) line.seal();
  return [...lines].map(([thread, line]) => line.line(thread)).sort(byWeight);
}
