import { Failure } from "../app/failure.ts";

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 7 * 86_400_000 };

/** `2h`, `3d`, or a date, as epoch milliseconds. */
export function sinceOf(words: string, now: number): number {
  const [, number, unit] = /^(\d+)([mhdw])$/.exec(words) ?? [];
  if (number !== undefined && unit !== undefined) return now - Number(number) * (UNITS[unit] ?? 0);
  const at = Date.parse(words);
  if (Number.isNaN(at)) throw new Failure("usage", `--since ${words}: not a time`, ["write 30m, 2h, 3d, 1w, or a date such as 2026-11-15"]);
  return at;
}
