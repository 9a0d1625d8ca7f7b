const UNITS: ReadonlyMap<string, number> = new Map([
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
  ["w", 7 * 86_400_000],
]);

/** Milliseconds of `30s`, `10m`, `2h`, `3d` or `1w`; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, number, unit] = /^(\d{1,9})([a-z])$/.exec(text) ?? [];
  const size = UNITS.get(unit ?? "");
  return number === undefined || size === undefined ? null : Number(number) * size;
}

/** In the largest unit without a remainder. */
export function durationText(ms: number): string {
  const [unit, size] = [...UNITS].reverse().find(([, size]) => ms % size === 0) ?? ["s", 1_000];
  return `${ms / size}${unit}`;
}
