import { LIMIT_LABELS } from "../../../src/core/guard/limit-text.ts";
import type { LimitName } from "../../../src/core/guard/limits.ts";
import * as core from "../../../src/core/tools/format.ts";

export { displayName } from "../../../src/core/facts/display-name.ts";
export { limitText, scopeText } from "../../../src/core/guard/limit-text.ts";
export {
  ago,
  bytes,
  count,
  duration,
  exact,
  exactMoney,
  exactMs,
  money,
  moneyKnown,
  percent,
  plural,
  UNKNOWN,
} from "../../../src/core/tools/format.ts";
export { STATUS_MARKS } from "../../../src/core/views/agent.ts";

export const limitLabel = (limit: LimitName) => LIMIT_LABELS[limit];

/** The time zone of the browser. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const clock = (at: string | null) => core.clock(at, ZONE);
export const dateAndTime = (at: string | null) => core.dateAndTime(at, ZONE);
export const month = (at: number) => core.month(at, ZONE);
