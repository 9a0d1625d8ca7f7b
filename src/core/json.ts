import { MAX_JSON_DEPTH } from "./limits.ts";

/** Other people's JSON is unknown until it was looked at: these look, and answer null instead of throwing. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const asObject = (value: unknown): JsonObject | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const asText = (value: unknown): string | null => (typeof value === "string" ? value : null);
/** A text that says something. */
export const asWords = (value: unknown): string | null => (typeof value === "string" && value.trim() !== "" ? value : null);
export const asNumber = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);
/** A count: never negative, 0 when it is missing. */
export const asCount = (value: unknown): number => Math.max(0, asNumber(value) ?? 0);

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
