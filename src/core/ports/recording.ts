import { asObject, asText, asTime, decodeText, type JsonObject, parseJson } from "../tools/json.ts";

/**
 * One line of a recording of a live source (a wrapped process, an event stream, API traffic, a hook), with its arrival
 * time. `raw` is JSON of the source, unchanged; `text` is other output; `note` is a note of retinue, such as start and
 * end.
 */
export type Recorded = { readonly at: number } & (
  | { readonly raw: unknown }
  | { readonly text: string }
  | { readonly note: JsonObject }
);

/** One line of a source. Line breaks inside of JSON are whitespace and may be removed. */
export function recordedLine(line: string, at: number): string {
  const isJson = parseJson(line) !== null;
  return isJson
    ? `{"at":${at},"raw":${line.trim().replace(/[\r\n]+/g, " ")}}\n`
    : `{"at":${at},"text":${JSON.stringify(line)}}\n`;
}

export const recordedNote = (note: JsonObject, at: number) => `{"at":${at},"note":${JSON.stringify(note)}}\n`;

/** How many of these lines, from the first, are at the end of a recording: the killed process had recorded them. */
export function recordedAlready(recording: string, lines: readonly string[]): number {
  const withoutTime = (line: string) => line.replace(/^\{"at":\d+,/, "");
  const kept = recording.trimEnd().split("\n").map(withoutTime);
  const wanted = lines.map((line) => withoutTime(recordedLine(line, 0).trimEnd()));
  for (let count = Math.min(wanted.length, kept.length); count > 0; count -= 1)
    if (wanted.slice(0, count).every((line, i) => line === kept[kept.length - count + i])) return count;
  return 0;
}

/** Null for lines that the recorder did not write completely, such as one truncated by a crash. */
export function readRecorded(record: Uint8Array): Recorded | null {
  const line = asObject(parseJson(decodeText(record).text)?.value);
  const at = typeof line?.at === "number" ? asTime(line.at) : null;
  if (line === null || at === null) return null;
  if ("raw" in line) return { at, raw: line.raw };
  const [text, note] = [asText(line.text), asObject(line.note)];
  return text !== null ? { at, text } : note !== null ? { at, note } : null;
}
