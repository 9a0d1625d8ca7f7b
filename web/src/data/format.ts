import * as words from "../../../src/core/format.ts";

export { displayName } from "../../../src/core/display-name.ts";
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
  STATUS_MARKS,
  UNKNOWN,
} from "../../../src/core/format.ts";

/** Where the person who looks at the page is. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export const clock = (at: string | null) => words.clock(at, ZONE);
export const dateAndTime = (at: string | null) => words.dateAndTime(at, ZONE);
export const month = (at: number) => words.month(at, ZONE);
