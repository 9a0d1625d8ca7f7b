import { parseDuration } from "../../core/tools/duration.ts";
import { Failure } from "../failure.ts";

/** Converts `2h`, `3d` or a date to epoch milliseconds. */
export function sinceOf(text: string, now: number, name = "--since"): number {
  const span = parseDuration(text);
  if (span !== null) return inRange(now - span);
  const at = Date.parse(text);
  if (Number.isNaN(at))
    throw new Failure("usage", `${name} ${text}: not a time`, ["write 30m, 2h, 3d, 1w, or a date such as 2026-11-15"]);
  return inRange(at);
}

/** Nothing is older or newer, and databases know no other years. */
const inRange = (at: number) => Math.min(Math.max(0, at), Date.UTC(9999, 11, 31));
