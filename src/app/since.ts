import { parseDuration } from "../core/duration.ts";
import { Failure } from "./failure.ts";

/** `2h`, `3d`, or a date, as epoch milliseconds. */
export function sinceOf(words: string, now: number, name = "--since"): number {
  const span = parseDuration(words);
  if (span !== null) return now - span;
  const at = Date.parse(words);
  if (Number.isNaN(at)) throw new Failure("usage", `${name} ${words}: not a time`, ["write 30m, 2h, 3d, 1w, or a date such as 2026-11-15"]);
  return at;
}
