export const DAY_MS = 86_400_000;

/** More columns would be too narrow. */
const MAX_DAYS = 120;

/** One column of a chart of days. */
export interface DayColumn<B> {
  /** `2026-11-16`, UTC. */
  readonly day: string;
  /** Null for a day without usage. */
  readonly bar: B | null;
}

/**
 * One column for each day from the first to the last with usage, at most 120 and none after tomorrow; `outside` are the
 * lines of other days and of no known day. A transcript may have any time: a record of the year 1 or 9999 must neither
 * make millions of columns nor squeeze the real days. `barsOf` gets the lines that are shown, for the same reason.
 */
export function dayColumns<L extends { readonly key: string | null }, B extends { readonly line: L }>(
  lines: readonly L[],
  now: number,
  barsOf: (lines: readonly L[]) => readonly B[],
): { readonly columns: readonly DayColumn<B>[]; readonly outside: readonly L[] } {
  const tomorrow = Math.floor(now / DAY_MS) + 1;
  const byNumber = new Map(lines.map((line) => [numberOf(line.key), line]));
  const known = [...byNumber].filter(([day]) => day <= tomorrow);
  const last = known.reduce((most, [day]) => Math.max(most, day), Number.NEGATIVE_INFINITY);
  const shown = known.filter(([day]) => day > last - MAX_DAYS);
  const first = shown.reduce((least, [day]) => Math.min(least, day), last);
  const bars = new Map(barsOf(shown.map(([, line]) => line)).map((bar) => [numberOf(bar.line.key), bar]));
  const columns = Array.from({ length: shown.length === 0 ? 0 : last - first + 1 }, (_, i) => ({
    day: new Date((first + i) * DAY_MS).toISOString().slice(0, 10),
    bar: bars.get(first + i) ?? null,
  }));
  const inside = new Set(shown.map(([, line]) => line));
  return { columns, outside: lines.filter((line) => !inside.has(line)) };
}

/** The number of a day; NaN if it is none. */
const numberOf = (day: string | null) => (day === null ? Number.NaN : Math.floor(Date.parse(day) / DAY_MS));
