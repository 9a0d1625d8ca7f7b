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
