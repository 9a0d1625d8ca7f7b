/** Longer texts, new ids and later times for recorded JSON. */
import { parseJson } from "../../src/core/tools/json.ts";

/** The average in public sessions of Claude Code. Recorded texts are shorter, because the models were scripted. */
export const RECORD_BYTES = 2_100;
const WORDS = /[a-z] [a-z]/i;
const FILLER = " and the next line of it\\n";

/** Extends the longest text of each record, all by the same length, so that records have `RECORD_BYTES` on average. */
export function withLongTexts(lines: readonly string[]): string[] {
  const texts = lines.map(longestText);
  const missing = RECORD_BYTES * lines.length - lines.reduce((sum, line) => sum + line.length, 0);
  const each = Math.round(missing / texts.filter((text) => text !== null).length);
  if (!(each > 0 && Number.isFinite(each))) return [...lines];
  const filler = FILLER.repeat(Math.ceil(each / FILLER.length)).slice(0, each);
  // A cut escape sequence would make the record invalid.
  const more = filler.endsWith("\\") ? `${filler.slice(0, -1)}.` : filler;
  return lines.map((line, i) => {
    const text = texts[i];
    return text == null ? line : line.replace(text, () => text + more);
  });
}

/** As written in the record; null for a record without words, and for a torn one. */
function longestText(line: string): string | null {
  let longest = "";
  const look = (part: unknown): void => {
    if (typeof part === "string" && part.length > longest.length && WORDS.test(part)) longest = part;
    if (typeof part === "object" && part !== null) for (const one of Object.values(part)) look(one);
  };
  look(parseJson(line)?.value);
  const written = JSON.stringify(longest).slice(1, -1);
  return longest !== "" && line.includes(written) ? written : null;
}

/** The form of an id; other short texts have no digit. */
export const isId = (value: unknown): value is string =>
  typeof value === "string" && /^(?=.*\d)[^"\\]{6,80}$/.test(value);

/** The ids of records, responses and calls, without those of models. */
export function idsIn(lines: readonly string[]): Set<string> {
  const ids = new Set<string>();
  const look = (part: unknown): void => {
    if (typeof part !== "object" || part === null) return;
    for (const [name, value] of Object.entries(part))
      if (typeof value !== "string") look(value);
      else if (/id$/i.test(name) && !/model/i.test(name) && isId(value)) ids.add(value);
  };
  for (const line of lines) look(parseJson(line)?.value);
  return ids;
}

const HOUR_MS = 3_600_000;

export function renewed(text: string, ids: ReadonlySet<string>, n: number): string {
  return text
    .replace(/"([^"\\]{6,80})"/g, (quoted, id: string) => (ids.has(id) ? `"${nextId(id, n)}"` : quoted))
    .replace(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (at) => new Date(Date.parse(at) + n * HOUR_MS).toISOString())
    .replace(/(?<=[:, ])1[78]\d{11}(?=[,}])/g, (at) => String(Number(at) + n * HOUR_MS));
}

/** An id of the same form, because readers check the form of some. */
export function nextId(id: string, n: number): string {
  const tail = /[0-9a-f]{8}$/i.exec(id)?.[0];
  if (tail === undefined) return `${id}${n}`;
  return id.slice(0, -8) + ((Number.parseInt(tail, 16) + n * 65_537) % 2 ** 32).toString(16).padStart(8, "0");
}
