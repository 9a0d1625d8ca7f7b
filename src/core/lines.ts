import { placeName } from "./findings.ts";
import { decodeText, parseJson } from "./json.ts";
import type { Problem } from "./problem.ts";

/** A line of JSON as far as it can be read, and what is wrong with it. */
export interface JsonLine {
  readonly value: unknown;
  /** False where nothing of it could be read. */
  readonly isRead: boolean;
  readonly problems: readonly Problem[];
}

/** No record is looked for behind more torn ones than this. */
const MAX_STARTS = 100;
/** Nor is anything closed that is nested deeper than this. */
const MAX_OPEN = 20;

/**
 * Reads one line, or a document (line 0). A crash cuts a record off, and the next one is written behind it in the same line: that one is whole.
 * `start` (with the flag `g`) is how records of this kind begin. Of a document that was cut off, its beginning is whole.
 */
export function readJsonLine(record: Uint8Array, path: string, line: number, start: RegExp): JsonLine {
  const { text, isUtf8 } = decodeText(record);
  const where = placeName(path, line);
  const bytes = `${record.length} bytes`;
  const problems: Problem[] = isUtf8 ? [] : [{ code: "text-not-utf8", where, detail: bytes }];
  const parsed = parseJson(text);
  if (parsed !== null) return { value: parsed.value, isRead: true, problems };
  const [torn, what] = line === 0 ? [beforeCut(text), "what stands before the cut"] : [behindTorn(text, start), "the whole record at its end"];
  const detail = torn === null ? bytes : `${bytes}; ${what} was read`;
  return { value: torn?.value, isRead: torn !== null, problems: [...problems, { code: "line-not-json", where, detail }] };
}

function behindTorn(text: string, start: RegExp): { readonly value: unknown } | null {
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

/** A document without its end: everything before the last comma is complete, once what is open there is closed. */
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

/** Where something stands in a line. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

const [QUOTE, BACKSLASH, OPEN, CLOSE] = [0x22, 0x5c, 0x7b, 0x7d];
const isBlank = (byte: number | undefined) => byte !== undefined && byte <= 0x20;

/**
 * The records of a line that holds several, as two processes that append to one file leave it; null for a line that is one record.
 * Only whole records at its beginning are told apart. What follows the last of them, such as a record that was cut off, is the last span.
 */
export function recordsIn(line: Uint8Array, isBehind = false): readonly Span[] | null {
  // Behind another record the cheap test is left out: the whole line would not have passed it.
  if ((!isBehind && !mayHoldSeveral(line)) || parseJson(decoder.decode(line)) !== null) return null;
  const spans: Span[] = [];
  for (let start = afterBlanks(line, 0); start < line.length; ) {
    const end = line[start] === OPEN ? objectEnd(line, start) : null;
    const isWhole = end !== null && parseJson(decoder.decode(line.subarray(start, end))) !== null;
    // Nothing whole stands at its beginning: whoever reads it looks for a whole record at its end.
    if (!isWhole && spans.length === 0) return null;
    spans.push({ start, end: isWhole ? end : line.length });
    if (!isWhole) break;
    start = afterBlanks(line, end);
  }
  return spans.length < 2 ? null : spans;
}

const decoder = new TextDecoder();

/**
 * A cheap test that nearly every valid line fails, so that no line is parsed twice: outside of strings no object follows another without a comma, and in
 * strings every quote is escaped.
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

/** Where the object ends that begins at `start`; null where it does not. */
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
