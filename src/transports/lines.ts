import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { MAX_RECORD } from "../core/tools/limits.ts";
import { type ReadCounts, yieldToEventLoop } from "./files.ts";
import { type Packing, unpacked } from "./packed.ts";
import { WITHOUT_WAITING } from "./regular.ts";

export type Line =
  | RecordLine
  /** Zero bytes that a crash left. A record may follow in the same line. */
  | {
      readonly is: "zeroes";
      readonly number: number;
      readonly length: number;
      readonly end: number;
      readonly ended: boolean;
    }
  | { readonly is: "unfinished" | "too-long"; readonly number: number; readonly length: number; readonly end: number };

/** A line, or one of several records in it. */
export interface RecordLine {
  readonly is: "line";
  readonly bytes: Uint8Array;
  readonly number: number;
  /** Start of its bytes. */
  readonly offset: number;
  /** Start of the next one. */
  readonly end: number;
  /**
   * False if the newline is missing: for a complete last line, and for a record followed by another one in the same
   * line.
   */
  readonly ended: boolean;
  /** Another record precedes this one in the same line. */
  readonly isBehind?: true;
}

/** The positions of the records in one line; null if the line is one record. `isBehind`: another record precedes it. */
export type SplitLine = (
  line: Uint8Array,
  isBehind: boolean,
) => readonly { readonly start: number; readonly end: number }[] | null;

/** Number of bytes and lines before the read position. */
export interface LinePosition {
  readonly offset: number;
  readonly lines: number;
}

const START: LinePosition = { offset: 0, lines: 0 };

/**
 * The part of a line over the limit that was looked at, and has no end. A reader that stops within such a line, or at
 * the end of the file, continues behind this part.
 */
export interface PassedPart {
  bytes: number;
}

/** The read position after a line. A newline that is appended later still belongs to the line before it. */
export const positionAfter = (line: Line): LinePosition => ({
  offset: line.end,
  lines: line.is === "unfinished" || ("ended" in line && !line.ended) ? line.number - 1 : line.number,
});

/**
 * The lines of a file without line ends; `end` is where the next one begins.
 * A last line without an end is still being written: it is returned separately, and only if `whole` decides that it is
 * complete.
 * At most `max` bytes of a line are kept. The buffers are valid until the next iteration.
 * Positions in a packed file refer to the unpacked data.
 */
export async function* readLines(
  path: string,
  counts: ReadCounts,
  whole: (line: Uint8Array) => boolean,
  from: LinePosition = START,
  {
    max = MAX_RECORD,
    packed,
    split = () => null,
    passed = { bytes: 0 },
  }: {
    readonly max?: number;
    readonly packed?: Packing | undefined;
    readonly split?: SplitLine;
    readonly passed?: PassedPart | undefined;
  } = {},
): AsyncGenerator<readonly Line[]> {
  counts.files += 1;
  let isBehind = packed === undefined && startsBehindRecord(path, from.offset);
  let rest: Buffer[] = [];
  let restLength = passed.bytes;
  let number = from.lines;
  let position = from.offset + passed.bytes;
  for await (const chunk of packed === undefined ? chunksOf(path, position) : unpacked(path, position)) {
    counts.bytes += chunk.length;
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const part = chunk.subarray(start, end);
      const length = restLength + part.length;
      number += 1;
      const after = position + end + 1;
      if (length > max) lines.push({ is: "too-long", number, length, end: after });
      else
        addLine(lines, rest.length === 0 ? part : Buffer.concat([...rest, part]), {
          number,
          end: after,
          ended: true,
          isBehind,
          split,
        });
      isBehind = false;
      rest = [];
      restLength = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      restLength += chunk.length - start;
      // Beyond the limit only the length is tracked.
      if (restLength > max) rest = [];
      else rest.push(Buffer.from(chunk.subarray(start)));
    }
    position += chunk.length;
    passed.bytes = restLength > max ? restLength : 0;
    counts.lines += lines.length;
    yield lines;
  }
  if (restLength > max) {
    yield [{ is: "unfinished", number: number + 1, length: restLength, end: position - restLength }];
    return;
  }
  const last: Line[] = [];
  addLine(last, Buffer.concat(rest), { number: number + 1, end: position, ended: false, isBehind, split });
  const unfinished = last.find((line): line is RecordLine => line.is === "line" && !whole(line.bytes));
  if (unfinished === undefined) return yield last;
  // Complete records before it are returned now. Zeroes before it are read again with it.
  const before = last.slice(0, last.indexOf(unfinished)).filter((line) => line.is === "line");
  const start = before.length === 0 ? position - restLength : unfinished.offset;
  yield [...before, { is: "unfinished", number: number + 1, length: position - start, end: start }];
}

const BLANK = 32;
/** Number of bytes to read backwards at a time. */
const BACK = 4_096;

/** Whether the position is inside a line, after a record that was read before. */
function startsBehindRecord(path: string, offset: number): boolean {
  if (offset === 0) return false;
  const file = openSync(path, WITHOUT_WAITING);
  try {
    const block = Buffer.alloc(BACK);
    for (let end = offset; end > 0; end -= BACK) {
      const start = Math.max(0, end - BACK);
      const read = block.subarray(0, readSync(file, block, 0, end - start, start));
      // Zeroes and blanks may be between two records, or before the first one of a line.
      const last = read.findLast((byte) => byte > BLANK || byte === NEWLINE);
      if (last !== undefined) return last !== NEWLINE;
    }
    return false;
  } finally {
    closeSync(file);
  }
}

const CHUNK = 1 << 20;
/** Buffers to reuse, because allocating one per file takes time, and memory until the next garbage collection. */
const reusable: Buffer[] = [];
const MAX_REUSABLE = 4;

/**
 * A file in chunks; each buffer is valid until the next iteration. Small files are read at once, which takes a tenth of
 * the time of a stream; most transcripts are small.
 */
async function* chunksOf(path: string, from: number): AsyncGenerator<Buffer> {
  const file = openSync(path, WITHOUT_WAITING);
  const buffer = reusable.pop() ?? Buffer.allocUnsafeSlow(CHUNK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is no longer a file");
    let position = from;
    for (let read = buffer.length; read === buffer.length; ) {
      await yieldToEventLoop();
      read = readSync(file, buffer, 0, buffer.length, position);
      position += read;
      if (read > 0) yield buffer.subarray(0, read);
    }
  } finally {
    closeSync(file);
    if (reusable.length < MAX_REUSABLE) reusable.push(buffer);
  }
}

const NEWLINE = 10;

interface LineAt {
  readonly number: number;
  /** Start of the next line. */
  readonly end: number;
  readonly ended: boolean;
  readonly isBehind: boolean;
  readonly split: SplitLine;
}

function addLine(lines: Line[], bytes: Buffer, { split, isBehind, number, end: after, ended }: LineAt): void {
  let [start, end] = [0, bytes.length];
  while (start < end && bytes[start] === 0) start += 1;
  while (end > start && bytes[end - 1] === 0) end -= 1;
  const zeroes = bytes.length - (end - start);
  if (zeroes > 0) lines.push({ is: "zeroes", length: zeroes, number, end: after, ended });
  const content = zeroes === 0 ? bytes : bytes.subarray(start, end);
  const blanks = (content[0] ?? 0) > 32 ? 0 : content.findIndex((byte) => byte > 32);
  if (blanks < 0) return;
  const offset = after - (ended ? 1 : 0) - bytes.length + start;
  const records = split(content, isBehind);
  if (records === null) {
    // Without leading blanks, so that the position is the same whether it is read alone or with the record before it.
    const line = blanks === 0 ? content : content.subarray(blanks);
    const record: RecordLine = { is: "line", bytes: line, number, offset: offset + blanks, end: after, ended };
    lines.push(isBehind ? { ...record, isBehind } : record);
    return;
  }
  for (const [i, span] of records.entries()) {
    const next = records[i + 1];
    lines.push({
      is: "line",
      bytes: content.subarray(span.start, span.end),
      number,
      offset: offset + span.start,
      end: next === undefined ? after : offset + next.start,
      ended: next === undefined ? ended : false,
      ...(i > 0 || isBehind ? ({ isBehind: true } as const) : {}),
    });
  }
}
