import { placeName } from "../../core/facts/ids.ts";
import type { Problem } from "../../core/facts/problem.ts";
import { decodeText, parseJson } from "../../core/tools/json.ts";

/** A parsed line, and what is wrong with it. */
export interface JsonLine {
  readonly value: unknown;
  /** False if nothing could be parsed. */
  readonly isRead: boolean;
  readonly problems: readonly Problem[];
}

const NO_PROBLEMS: readonly Problem[] = [];

/** Maximum number of positions at which a complete record after a truncated one is searched. */
const MAX_STARTS = 100;
/** Maximum number of brackets that are closed in a truncated document. */
const MAX_OPEN = 20;

/**
 * Parses one line, or a document (line 0). If a crash truncated a record, the next one follows in the same line: the
 * complete one at the end is read. `start` (with the flag `g`) matches the beginning of a record. Of a truncated
 * document the part before the cut is read.
 */
export function readJsonLine(record: Uint8Array, path: string, line: number, start: RegExp): JsonLine {
  const { text, isUtf8 } = decodeText(record);
  const parsed = parseJson(text);
  if (parsed !== null && isUtf8) return { value: parsed.value, isRead: true, problems: NO_PROBLEMS };
  const where = placeName(path, line);
  const bytes = `${record.length} bytes`;
  const problems: Problem[] = isUtf8 ? [] : [{ code: "text-not-utf8", where, detail: bytes }];
  if (parsed !== null) return { value: parsed.value, isRead: true, problems };
  const [rescued, what] =
    line === 0
      ? [beforeCut(text), "the part before the cut"]
      : [recordAtEnd(text, start), "the complete record at its end"];
  const detail = rescued === null ? bytes : `${bytes}; ${what} was read`;
  return {
    value: rescued?.value,
    isRead: rescued !== null,
    problems: [...problems, { code: "line-not-json", where, detail }],
  };
}

function recordAtEnd(text: string, start: RegExp): { readonly value: unknown } | null {
  let tried = 0;
  for (const { index } of text.matchAll(start)) {
    if (index === 0) continue;
    const parsed = parseJson(text.slice(index));
    if (parsed !== null) return parsed;
    tried += 1;
    if (tried >= MAX_STARTS) return null;
  }
  return null;
}

/** Repairs a truncated document: removes everything after the last comma and closes the open brackets. */
function beforeCut(text: string): { readonly value: unknown } | null {
  const open: string[] = [];
  let whole: { readonly end: number; readonly open: readonly string[] } | null = null;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[\s\S])*"|[{}[\],]/g)) {
    if (token === "{") open.push("}");
    else if (token === "[") open.push("]");
    else if (token === "}" || token === "]") open.pop();
    if (token === "," && open.length <= MAX_OPEN) whole = { end: index, open: [...open] };
  }
  return whole === null ? null : parseJson(text.slice(0, whole.end) + whole.open.toReversed().join(""));
}

/** Start and end offsets in a line. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
const isBlank = (byte: number | undefined) => byte !== undefined && byte <= 0x20;

/**
 * The records of a line that contains several, as left by two processes that append to one file; null for a line with
 * one record. Only complete records at the beginning are separated. The rest, such as a truncated record, is the last
 * span.
 */
export function recordsIn(line: Uint8Array, isBehind = false): readonly Span[] | null {
  // After another record the cheap test is skipped: the whole line would not have passed it.
  if ((!isBehind && !mayHoldSeveral(line)) || parseJson(decoder.decode(line)) !== null) return null;
  const spans: Span[] = [];
  for (let start = afterBlanks(line, 0); start < line.length; ) {
    const end = line[start] === OPEN ? objectEnd(line, start) : null;
    const isWhole = end !== null && parseJson(decoder.decode(line.subarray(start, end))) !== null;
    // No complete record at the beginning: the reader searches for one at the end.
    if (!isWhole && spans.length === 0) return null;
    spans.push({ start, end: isWhole ? end : line.length });
    if (!isWhole) break;
    start = afterBlanks(line, end);
  }
  return spans.length < 2 ? null : spans;
}

const decoder = new TextDecoder();

/**
 * A cheap test that nearly all valid lines fail, so that no line is parsed twice: outside of strings an object never
 * follows another without a comma, and in strings quotes are escaped.
 */
function mayHoldSeveral(line: Uint8Array): boolean {
  if (line[afterBlanks(line, 0)] !== OPEN) return false;
  let last = line.length - 1;
  while (isBlank(line[last])) last -= 1;
  if (line[last] !== CLOSE) return true;
  for (let at = line.indexOf(OPEN, 1); at >= 0; at = line.indexOf(OPEN, at + 1)) {
    const next = line[afterBlanks(line, at + 1)];
    if (next !== QUOTE && next !== CLOSE) continue;
    let before = at - 1;
    while (isBlank(line[before])) before -= 1;
    if (line[before] === CLOSE) return true;
  }
  return false;
}

function afterBlanks(line: Uint8Array, from: number): number {
  let at = from;
  while (isBlank(line[at])) at += 1;
  return at;
}

/** The end of the object that begins at `start`; null if it is incomplete. */
function objectEnd(line: Uint8Array, start: number): number | null {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < line.length; at += 1) {
    const byte = line[at];
    if (isInString) {
      if (byte === BACKSLASH) at += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN) depth += 1;
    else if (byte === CLOSE) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return null;
}
