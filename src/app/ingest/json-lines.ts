import { inRecordBehind } from "../../core/facts/ids.ts";
import type { Findings, Parser } from "../../core/ports/provider.ts";
import { parseJson } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { recordsIn } from "../../providers/kit/lines.ts";
import type { ReadCounts } from "../../transports/files.ts";
import { type LinePosition, type PassedPart, type RecordLine, readLines } from "../../transports/lines.ts";
import type { Packing } from "../../transports/packed.ts";

/** The records of a JSONL file. A line may contain several: a crash, or two writers, may omit a newline. */
export function jsonLines(
  path: string,
  counts: ReadCounts,
  from?: LinePosition,
  packed?: Packing,
  passed?: PassedPart,
) {
  return readLines(path, counts, isWholeJson, from, { packed, split: recordsIn, passed });
}

/**
 * A last line without a newline may be complete: editors and copies remove it. Only for objects and arrays, because the
 * beginning of a number or of a torn record may also be valid JSON.
 */
function isWholeJson(line: Uint8Array): boolean {
  const value = parseJson(new TextDecoder().decode(line))?.value ?? null;
  return typeof value === "object" && value !== null;
}

/**
 * Name of a record that does not begin its line: by byte offset, which is the same whether the line was read at once or
 * while it grew.
 */
const nameOf = ({ isBehind, number, offset }: RecordLine) => (isBehind === true ? `${number}@${offset}` : undefined);

/** The observations of a record. Ids are unique even if a line has several records. */
export function findingsIn(parser: Parser, line: RecordLine): Findings {
  const found = parser.push(line.bytes, line.number, nameOf(line));
  if (line.isBehind !== true) return found;
  return {
    ...found,
    place: undefined,
    problems: found.problems,
    observations: found.observations.map((o) => ({ ...o, id: inRecordBehind(o.id, line.offset) })),
  };
}

/** The events of a record that was not passed to the parser before. */
export function eventsIn(parser: Parser, line: RecordLine): readonly EventDraft[] {
  // The parser needs the name to distinguish a second record of the same line.
  if (line.isBehind === true) parser.push(line.bytes, line.number, nameOf(line));
  return parser.events(line.bytes, line.number, nameOf(line));
}

/** Prefix of the ids of a record's events. */
export const eventPlace = (path: string, line: RecordLine) =>
  `${path}:${line.number}#${line.isBehind === true ? `@${line.offset}.` : ""}`;
