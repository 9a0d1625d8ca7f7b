import { asObject, asText, asTime, decodeText, type JsonObject, parseJson } from "./json.ts";

/**
 * What a live source (a wrapped process, an event stream, API traffic, a hook) said, as it is kept: one line each, with the moment it arrived.
 * `raw` is JSON of the source's own, letter by letter; `text` is whatever else it said; `note` is what we know ourselves, such as that it began or ended.
 */
export type Recorded = { readonly at: number } & ({ readonly raw: unknown } | { readonly text: string } | { readonly note: JsonObject });

/** One line of a source. Line breaks inside of JSON are mere blanks, so that they may be taken out. */
export function recordedLine(line: string, at: number): string {
  const isJson = parseJson(line) !== null;
  return isJson ? `{"at":${at},"raw":${line.trim().replace(/[\r\n]+/g, " ")}}\n` : `{"at":${at},"text":${JSON.stringify(line)}}\n`;
}

export const recordedNote = (note: JsonObject, at: number) => `{"at":${at},"note":${JSON.stringify(note)}}\n`;

/** How many of these lines, from the first one on, stand at the end of a recording: whoever was killed had recorded them. */
export function recordedAlready(recording: string, lines: readonly string[]): number {
  const said = (line: string) => line.replace(/^\{"at":\d+,/, "");
  const kept = recording.trimEnd().split("\n").map(said);
  const asked = lines.map((line) => said(recordedLine(line, 0).trimEnd()));
  for (let count = Math.min(asked.length, kept.length); count > 0; count -= 1)
    if (asked.slice(0, count).every((line, i) => line === kept[kept.length - count + i])) return count;
  return 0;
}

/** Null for what no recorder of ours wrote: a line cut off by a crash, say. */
export function readRecorded(record: Uint8Array): Recorded | null {
  const line = asObject(parseJson(decodeText(record).text)?.value);
  const at = typeof line?.at === "number" ? asTime(line.at) : null;
  if (line === null || at === null) return null;
  if ("raw" in line) return { at, raw: line.raw };
  const [text, note] = [asText(line.text), asObject(line.note)];
  return text !== null ? { at, text } : note !== null ? { at, note } : null;
}
