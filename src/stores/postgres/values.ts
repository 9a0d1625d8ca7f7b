import { createHash } from "node:crypto";
import { hash } from "../../core/tools/hash.ts";
import type { SpentRow } from "../../core/views/stats.ts";
import { wordsOf } from "../consistency.ts";

/** Values as PostgreSQL can store them. */

/** The partition of events without a believable time. */
export const UNDATED = "1970-01-01";

const DAY_MS = 86_400_000;
/** Events outside of this range have a wrong clock: they must not create partitions. */
const OLDEST_DAYS = 3 * 366;
const NEWEST_DAYS = 2;

/** The month of an event, which names its partition. */
export function bucketOf(at: string | null, now: number): string {
  const ms = at === null ? Number.NaN : Date.parse(at);
  const isBelievable = ms > now - OLDEST_DAYS * DAY_MS && ms < now + NEWEST_DAYS * DAY_MS;
  return isBelievable ? `${new Date(ms).toISOString().slice(0, 7)}-01` : UNDATED;
}

/** The first day of the month of a day. */
export const monthOfDay = (day: string | null) => (day === null ? UNDATED : `${day.slice(0, 7)}-01`);

/** Null for a time outside of the range of timestamps that make sense. */
export function believable(at: string | null): string | null {
  const ms = at === null ? Number.NaN : Date.parse(at);
  return ms >= 0 && ms < Date.UTC(2200) ? new Date(ms).toISOString() : null;
}

/** Null for a day outside of the same range, or of no month. */
export function believableDay(day: string | null): string | null {
  const at = believable(day === null ? null : `${day}T00:00:00.000Z`);
  return at?.slice(0, 10) === day ? day : null;
}

/** Longer than any agent works: one of the two clocks was wrong. */
const MAX_DURATION = 100 * 366 * DAY_MS;

/** Usage as it is summed up: of a wrong clock, only the tokens and costs count. */
export function believableUsage(row: SpentRow): SpentRow {
  const { day, durationMs } = row;
  const isDuration = durationMs >= 0 && durationMs <= MAX_DURATION;
  return { ...row, day: believableDay(day), durationMs: isDuration ? durationMs : 0 };
}

/** Text cannot contain NUL. */
export const plain = <T extends string | null>(text: T): T => (text === null ? text : (text.replaceAll("\0", "") as T));

/** Longer ids, which contain the path of a file, would not fit into the index. */
const MAX_ID_BYTES = 500;

/** The id of an event as it is looked up. */
export function lookupId(id: string): string {
  const text = plain(id);
  return Buffer.byteLength(text) <= MAX_ID_BYTES ? text : createHash("sha256").update(text).digest("hex");
}

/**
 * PostgreSQL refuses the value itself (its appendix A: data exception, program limit exceeded): it would refuse it
 * again.
 */
export const isUnstorableValue = (error: unknown): boolean =>
  error instanceof Error && "code" in error && /^(?:22|54)\w{3}$/.test(String(error.code));

/** Longer words are found by their beginning; PostgreSQL's own limit is 2,046 bytes. */
const MAX_WORD = 100;

/**
 * Begins every stored word, so that a search reads only the words of its owner, also if many begin with the searched
 * one. Owners may share it: the statement compares the owner, too.
 */
export const ownerPrefix = (owner: string) => (hash(owner) % 36 ** 3).toString(36).padStart(3, "0");

/** The words of a text of this owner, separated by spaces. */
export function wordsFor(owner: string, text: string): string {
  const prefix = ownerPrefix(owner);
  return [...new Set(wordsOf(text))].map((word) => prefix + word.slice(0, MAX_WORD)).join(" ");
}

/** A query for texts of this owner with all of these words; the last one may be incomplete. Null without a word. */
export function searchFor(owner: string, words: readonly string[]): string | null {
  const prefix = ownerPrefix(owner);
  const terms = words.flatMap((word) => wordsOf(word)).map((word) => `'${prefix}${word.slice(0, MAX_WORD)}'`);
  return terms.length === 0 ? null : `${terms.join(" & ")}:*`;
}
