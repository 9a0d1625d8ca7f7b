import * as core from "../../../src/core/tools/format.ts";

export { displayName } from "../../../src/core/facts/display-name.ts";
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

/** The time zone of the browser. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const clock = (at: string | null) => core.clock(at, ZONE);
export const dateAndTime = (at: string | null) => core.dateAndTime(at, ZONE);
export const month = (at: number) => core.month(at, ZONE);
