import { MAX_JSON_DEPTH } from "./limits.ts";
import { escapeHidden } from "./visible.ts";

/** Accessors for untrusted JSON: they check types and return null instead of throwing. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const asObject = (value: unknown): JsonObject | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const asText = (value: unknown): string | null => (typeof value === "string" ? value : null);
/** A string that is not blank. */
export const asNonBlank = (value: unknown): string | null =>
  typeof value === "string" && value.trim() !== "" ? value : null;
/**
 * The largest number accepted from a record: sums of larger ones could become infinite, which JSON cannot represent.
 */
export const MAX_NUMBER = Number.MAX_SAFE_INTEGER;
export const asNumber = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? Math.max(-MAX_NUMBER, Math.min(MAX_NUMBER, value)) : null;
/** A non-negative number, if present. */
export const asAmount = (value: unknown): number | null => {
  const number = asNumber(value);
  return number === null ? null : Math.max(0, number);
};
/** A count: never negative, 0 if missing. */
export const asCount = (value: unknown): number => asAmount(value) ?? 0;

/** The largest valid `Date`. */
const LAST_TIME = 8.64e15;

/** Epoch milliseconds of an ISO time or a number of milliseconds. */
export function asTime(value: unknown): number | null {
  if (typeof value === "number") return Math.abs(value) <= LAST_TIME ? value : null;
  if (typeof value !== "string") return null;
  const at = utcTime(value) ?? Date.parse(value);
  return Number.isNaN(at) ? null : at;
}

const [ZERO, DASH, COLON, POINT] = [48, 45, 58, 46];
const DAY_MS = 86_400_000;
let lastDay = "";
let lastDayAt = 0;

/**
 * The time of `2026-01-31T23:59:59.999Z`, as nearly all records write it, in a tenth of the time of `Date.parse`; null
 * for other texts.
 */
function utcTime(text: string): number | null {
  if (text.length !== 24 || text.charCodeAt(23) !== 90 || text.charCodeAt(10) !== 84) return null;
  if (text.charCodeAt(13) !== COLON || text.charCodeAt(16) !== COLON || text.charCodeAt(19) !== POINT) return null;
  const hours = digits(text, 11, 2);
  const minutes = digits(text, 14, 2);
  const seconds = digits(text, 17, 2);
  const ms = digits(text, 20, 3);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 59 || ms < 0) return null;
  const day = dayOf(text);
  return day === null ? null : day + 3_600_000 * hours + 60_000 * minutes + 1_000 * seconds + ms;
}

/** The start of the day; records of the same day follow each other. */
function dayOf(text: string): number | null {
  if (lastDay !== "" && text.startsWith(lastDay)) return lastDayAt;
  if (text.charCodeAt(4) !== DASH || text.charCodeAt(7) !== DASH) return null;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return null;
  lastDay = text.slice(0, 10);
  lastDayAt = Math.floor(at / DAY_MS) * DAY_MS;
  return lastDayAt;
}

/** -1 if not all of them are digits. */
function digits(text: string, from: number, count: number): number {
  let number = 0;
  for (let i = from; i < from + count; i += 1) {
    const digit = text.charCodeAt(i) - ZERO;
    if (!(digit >= 0 && digit <= 9)) return -1;
    number = 10 * number + digit;
  }
  return number;
}

export function parseJson(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // Invalid JSON in a transcript is expected; the caller counts it.
    return null;
  }
}

/** Digits or an exponent that may exceed the range of a number. */
const HUGE = /\d{309}|[eE]\+?\d{3}/;

/** The same, without numbers that become infinite: JSON cannot represent them, so they could not be written again. */
export function parseFiniteJson(text: string): { readonly value: unknown } | null {
  if (!HUGE.test(text)) return parseJson(text);
  const finite = (_: string, value: unknown) =>
    typeof value === "number" ? Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, value)) : value;
  try {
    return { value: JSON.parse(text, finite) };
  } catch {
    return null;
  }
}

const strict = new TextDecoder("utf-8", { fatal: true });
const lenient = new TextDecoder();

/** Decodes UTF-8; invalid bytes become replacement characters. */
export function decodeText(bytes: Uint8Array): { readonly text: string; readonly isUtf8: boolean } {
  try {
    return { text: strict.decode(bytes), isUtf8: true };
  } catch {
    // A truncated character, or another encoding.
    return { text: lenient.decode(bytes), isUtf8: false };
  }
}

/** The value as JSON; null if it cannot be written, such as a value nested too deeply. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    // JSON of any depth can be parsed, but not written.
    return null;
  }
}

/** Whether a value is nested so deeply that JSON.stringify may fail. */
export function isTooDeep(value: unknown): boolean {
  return isDeeper(value, MAX_JSON_DEPTH);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (levels === 0) return true;
  if (typeof value !== "object" || value === null) return false;
  for (const key in value) if (isDeeper((value as JsonObject)[key], levels - 1)) return true;
  return false;
}

/** Maximum indentation; more would make the size of a deep value quadratic. */
const INDENTED_LEVELS = 40;

/**
 * The value as JSON at any depth (JSON.stringify overflows the stack at 3,000 levels). Control and invisible characters
 * are escaped, which does not change the data.
 */
export function printJson(root: unknown, indent = 0): string {
  const native = indent === 0 ? jsonText(root) : null;
  if (native !== null) return escapeHidden(native);
  const parts: string[] = [];
  const open: {
    readonly items: Iterator<readonly [key: string, value: unknown]>;
    readonly end: string;
    isEmpty: boolean;
  }[] = [];
  const line = () => (indent === 0 ? "" : `\n${" ".repeat(indent * Math.min(open.length, INDENTED_LEVELS))}`);
  const put = (value: unknown) => {
    if (typeof value !== "object" || value === null) return void parts.push(JSON.stringify(value) ?? "null");
    const items: (readonly [string, unknown])[] = Array.isArray(value)
      ? value.map((item) => ["", item])
      : Object.entries(value).flatMap(([key, item]) =>
          item === undefined ? [] : [[`${JSON.stringify(key)}:${indent === 0 ? "" : " "}`, item]],
        );
    const [begin, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
    parts.push(begin as string);
    open.push({ items: items.values(), end: end as string, isEmpty: true });
  };
  put(root);
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    const { done, value } = last.items.next();
    if (done === true) {
      open.pop();
      parts.push(last.isEmpty ? "" : line(), last.end);
      continue;
    }
    const [key, item] = value;
    parts.push(last.isEmpty ? "" : ",", line(), key);
    last.isEmpty = false;
    put(item);
  }
  return escapeHidden(parts.join(""));
}
