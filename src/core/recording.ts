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

/** Null for what no recorder of ours wrote: a line cut off by a crash, say. */
export function readRecorded(record: Uint8Array): Recorded | null {
  const line = asObject(parseJson(decodeText(record).text)?.value);
  const at = typeof line?.at === "number" ? asTime(line.at) : null;
  if (line === null || at === null) return null;
  if ("raw" in line) return { at, raw: line.raw };
  const [text, note] = [asText(line.text), asObject(line.note)];
  return text !== null ? { at, text } : note !== null ? { at, note } : null;
}
