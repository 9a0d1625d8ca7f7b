import { MAX_JSON_DEPTH } from "./limits.ts";
import { escapeHidden } from "./visible.ts";

/** Other people's JSON is unknown until it was looked at: these look, and answer null instead of throwing. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const asObject = (value: unknown): JsonObject | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const asText = (value: unknown): string | null => (typeof value === "string" ? value : null);
/** A text that says something. */
export const asWords = (value: unknown): string | null => (typeof value === "string" && value.trim() !== "" ? value : null);
/** The largest amount that is taken from a record: sums of larger ones could become infinite, which JSON cannot say. */
export const MOST = Number.MAX_SAFE_INTEGER;
export const asNumber = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) ? Math.max(-MOST, Math.min(MOST, value)) : null;
/** An amount that may be missing: never negative. */
export const asAmount = (value: unknown): number | null => {
  const number = asNumber(value);
  return number === null ? null : Math.max(0, number);
};
/** A count: never negative, 0 when it is missing. */
export const asCount = (value: unknown): number => asAmount(value) ?? 0;

/** No `Date` goes further, so that every time we keep can be shown. */
const LAST_TIME = 8.64e15;

/** Epoch milliseconds of an ISO time or a number of milliseconds. */
export function asTime(value: unknown): number | null {
  if (typeof value === "number") return Math.abs(value) <= LAST_TIME ? value : null;
  if (typeof value !== "string") return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : at;
}

export function parseJson(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // Junk in a transcript is expected; the caller counts it.
    return null;
  }
}

const strict = new TextDecoder("utf-8", { fatal: true });
const lenient = new TextDecoder();

/** The text of some bytes; where they are not UTF-8, with a mark for each that is not. */
export function decodeText(bytes: Uint8Array): { readonly text: string; readonly isUtf8: boolean } {
  try {
    return { text: strict.decode(bytes), isUtf8: true };
  } catch {
    // Somebody cut a letter in two, or wrote in another encoding.
    return { text: lenient.decode(bytes), isUtf8: false };
  }
}

/** The value as JSON; null for what cannot be written so, such as a value nested deeper than any stack is high. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    // JSON can be read at any depth, but not written.
    return null;
  }
}

/** Whether a value is nested so deeply that printing it as a part of something else could fail. */
export function isTooDeep(value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth < MAX_JSON_DEPTH; depth += 1) {
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []));
    if (level.length === 0) return false;
  }
  return true;
}

/** Levels that are indented; more would make the size of a deep value quadratic. */
const INDENTED_LEVELS = 40;

/**
 * The value as JSON for people and programs to read, at any depth (JSON.stringify overflows the stack at 3,000 levels). Characters that a terminal obeys or nobody
 * sees are escape sequences: the same data.
 */
export function printJson(root: unknown, indent = 0): string {
  const native = indent === 0 ? jsonText(root) : null;
  if (native !== null) return escapeHidden(native);
  const parts: string[] = [];
  const open: { readonly items: Iterator<readonly [key: string, value: unknown]>; readonly end: string; isEmpty: boolean }[] = [];
  const line = () => (indent === 0 ? "" : `\n${" ".repeat(indent * Math.min(open.length, INDENTED_LEVELS))}`);
  const put = (value: unknown) => {
    if (typeof value !== "object" || value === null) return void parts.push(JSON.stringify(value) ?? "null");
    const items: (readonly [string, unknown])[] = Array.isArray(value)
      ? value.map((item) => ["", item])
      : Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[`${JSON.stringify(key)}:${indent === 0 ? "" : " "}`, item]]));
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
