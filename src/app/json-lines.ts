import type { EventDraft } from "../core/event.ts";
import { inRecordBehind } from "../core/ids.ts";
import { parseJson } from "../core/json.ts";
import { recordsIn } from "../core/lines.ts";
import type { Findings, Parser } from "../core/provider.ts";
import type { ReadCounts } from "../transports/files.ts";
import { type LinePosition, type RecordLine, readLines } from "../transports/lines.ts";
import type { Packing } from "../transports/packed.ts";

/** The records of a file with one JSON record a line, or several: a writer that crashes, or two writers, may leave the newline out. */
export function jsonLines(path: string, counts: ReadCounts, from?: LinePosition, packed?: Packing) {
  return readLines(path, counts, isWholeJson, from, { packed, split: recordsIn });
}

/**
 * A last line without its end may be complete all the same: editors and copies cut the final newline.
 * Only an object or a list: the beginning of a number or of a torn record may be JSON as well, and grow.
 */
function isWholeJson(line: Uint8Array): boolean {
  const value = parseJson(new TextDecoder().decode(line))?.value ?? null;
  return typeof value === "object" && value !== null;
}

/** Names a record that does not begin its line: by its byte, which is the same whether the line was read at once or while it grew. */
const nameOf = ({ isBehind, number, offset }: RecordLine) => (isBehind === true ? `${number}@${offset}` : undefined);

/** What a parser finds in a record. Every observation has an id of its own, however many records stand in the line. */
export function findingsIn(parser: Parser, line: RecordLine): Findings {
  const found = parser.push(line.bytes, line.number, nameOf(line));
  if (line.isBehind !== true) return found;
  return { ...found, problems: found.problems, observations: found.observations.map((o) => ({ ...o, id: inRecordBehind(o.id, line.offset) })) };
}

/** The events of a record that was not handed to the parser before. */
export function eventsIn(parser: Parser, line: RecordLine): readonly EventDraft[] {
  // A parser takes a second record of the same line for the one it knows, unless it is told.
  if (line.isBehind === true) parser.push(line.bytes, line.number, nameOf(line));
  return parser.events(line.bytes, line.number, nameOf(line));
}

/** The ids of events of one record begin so. */
export const eventPlace = (path: string, line: RecordLine) => `${path}:${line.number}#${line.isBehind === true ? `@${line.offset}.` : ""}`;
