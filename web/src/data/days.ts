export const DAY_MS = 86_400_000;

/** All days (`2026-11-16`, UTC) from the first to the last of the given ones, at most the last `max`. */
export function everyDay(days: Iterable<string>, max = Number.POSITIVE_INFINITY): string[] {
  const sorted = [...days].sort();
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined) return [];
  const to = Date.parse(last);
  const from = Math.max(Date.parse(first), to - (max - 1) * DAY_MS);
  return Array.from({ length: Math.round((to - from) / DAY_MS) + 1 }, (_, i) =>
    new Date(from + i * DAY_MS).toISOString().slice(0, 10),
  );
}
