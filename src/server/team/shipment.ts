import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import * as v from "valibot";
import type { EventDocument, ShipmentDocument, ShipmentHead } from "../../core/ports/shipment.ts";
import { asObject, asText, isTooDeep, parseJson } from "../../core/tools/json.ts";
import { TooLarge } from "../../core/tools/limits.ts";
import { DOCUMENTS, Head } from "./shipped-documents.ts";

const unpack = promisify(gunzip);

/** Limits of one shipment. A sender splits what is larger; it sends 2 MB and the rest of its last document at once. */
export const SHIPMENT_LIMITS = {
  compressedBytes: 8 << 20,
  bytes: 16 << 20,
  lineBytes: 4 << 20,
  documents: 5_000,
  /** Objects and lists. An empty one takes three bytes of a shipment, and in memory a hundred times as much. */
  containers: 400_000,
  lineContainers: 200_000,
} as const;

/** Which document of a shipment is refused, for the sender: it can leave that thread out and send the rest. */
export interface Culprit {
  /** Its position, from 0; the head is not counted. Null if the shipment as a whole is refused. */
  readonly document: number | null;
  /** The thread that it is about, as far as that is known. */
  readonly thread: string | null;
}

export const WHOLE_SHIPMENT: Culprit = { document: null, thread: null };

/** A line that is not part of a shipment; nothing of the shipment is stored. */
export class MalformedLine extends Error {
  readonly culprit: Culprit;

  /** Lines are counted from 1, which is the head. */
  constructor(line: number, what: string, thread: string | null = null) {
    super(`line ${line}: ${what}`);
    this.name = "MalformedLine";
    this.culprit = line < 2 ? WHOLE_SHIPMENT : { document: line - 2, thread };
  }
}

/** A document that is larger than any may be. */
export class LargeLine extends TooLarge {
  readonly culprit: Culprit;

  constructor(line: number, most: string, thread: string | null) {
    super(`line ${line}: a document has at most ${most}`);
    this.culprit = { document: line - 2, thread };
  }
}

export interface ParsedShipment {
  readonly head: ShipmentHead;
  readonly documents: readonly ShipmentDocument[];
}

/** Unpacks and checks a shipment. The limits hold before anything is parsed. */
export async function parseShipment(body: Buffer, isCompressed: boolean): Promise<ParsedShipment> {
  const { bytes } = SHIPMENT_LIMITS;
  const unpacked = isCompressed ? await decompressed(body) : body;
  if (unpacked.length > bytes) throw new TooLarge(`a shipment has at most ${bytes} bytes unpacked`);
  const [first = Buffer.alloc(0), ...rest] = linesIn(unpacked);
  const head = json(first.toString(), 1);
  const wrong = wrongIn(Head, head);
  if (wrong !== null) throw new MalformedLine(1, wrong);
  checkSizes(rest);
  const documents = rest.map((line, i) => document(json(line.toString(), i + 2), i + 2));
  return { head: head as ShipmentHead, documents };
}

const LINE_FEED = 0x0a;

/** The lines, at most one more than a shipment may have. */
function linesIn(text: Buffer): Buffer[] {
  const { documents: most } = SHIPMENT_LIMITS;
  const lines: Buffer[] = [];
  for (let from = 0; from < text.length; ) {
    // The first line is the head.
    if (lines.length > most) throw new TooLarge(`a shipment has at most ${most} documents`);
    const end = text.indexOf(LINE_FEED, from);
    lines.push(text.subarray(from, end < 0 ? text.length : end));
    from = end < 0 ? text.length : end + 1;
  }
  return lines;
}

/** Throws if the documents would take too much memory once they are parsed. */
function checkSizes(lines: readonly Buffer[]): void {
  const { lineBytes, containers, lineContainers } = SHIPMENT_LIMITS;
  let sum = 0;
  for (const [i, line] of lines.entries()) {
    if (line.length > lineBytes) throw new LargeLine(i + 2, `${lineBytes} bytes`, threadNamedIn(line.toString()));
    const count = containersIn(line);
    if (count > lineContainers)
      throw new LargeLine(i + 2, `${lineContainers} objects and lists`, threadNamedIn(line.toString()));
    sum += count;
    if (sum > containers) throw new TooLarge(`a shipment has at most ${containers} objects and lists`);
  }
}

const [QUOTE, BACKSLASH, BRACKET, BRACE] = [0x22, 0x5c, 0x5b, 0x7b];

/** The number of objects and lists that a line of JSON contains. */
function containersIn(line: Buffer): number {
  let count = 0;
  let isText = false;
  for (let i = 0; i < line.length; i += 1) {
    const byte = line[i];
    if (byte === QUOTE) isText = !isText;
    else if (isText && byte === BACKSLASH) i += 1;
    else if (!isText && (byte === BRACKET || byte === BRACE)) count += 1;
  }
  return count;
}

/** Where a line names its thread: senders write it first. */
const BEGINNING = 10_000;

/** The thread of a line that is too large to be parsed, or cannot be. */
function threadNamedIn(line: string): string | null {
  const [, quoted] = /"thread":("(?:[^"\\]|\\.){1,2000}")/.exec(line.slice(0, BEGINNING)) ?? [];
  return quoted === undefined ? null : asText(parseJson(quoted)?.value);
}

async function decompressed(body: Buffer): Promise<Buffer> {
  try {
    return await unpack(body, { maxOutputLength: SHIPMENT_LIMITS.bytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
      throw new TooLarge(`a shipment has at most ${SHIPMENT_LIMITS.bytes} bytes unpacked`);
    throw new MalformedLine(1, "the body is not gzip, or it is truncated");
  }
}

function json(line: string, number: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new MalformedLine(number, "not JSON", threadNamedIn(line));
  }
}

/** Returns what is wrong, or null. */
function wrongIn(schema: v.GenericSchema, value: unknown): string | null {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return null;
  const [issue] = result.issues;
  const where = v.getDotPath(issue);
  return `${where === null ? "" : `${where}: `}${issue.message}`;
}

function document(value: unknown, line: number): ShipmentDocument {
  const { is, what, thread } = asObject(value) ?? {};
  const refuse = (reason: string) => new MalformedLine(line, reason, asText(thread)?.slice(0, BEGINNING) ?? null);
  const name = String(is === "detail" ? what : is);
  const schema = Object.hasOwn(DOCUMENTS, name) ? DOCUMENTS[name as keyof typeof DOCUMENTS] : undefined;
  if (schema === undefined)
    throw refuse(`unknown kind of document ${JSON.stringify(name)}; this server may be older than the sender`);
  const wrong = wrongIn(schema, value);
  if (wrong !== null) throw refuse(wrong);
  // What is not described is stored as it is; newer versions may add fields.
  const one = shallow(value as ShipmentDocument);
  if (isTooDeep(one)) throw refuse("nested too deeply");
  if (one.is === "agent" && (one.record.uri !== one.uri || one.record.parent !== one.parent))
    throw refuse("the record is of another agent");
  if (one.is === "agent" && one.parent === one.uri) throw refuse("parent: the agent itself");
  if (one.is === "event" && one.event.uri !== one.agent) throw refuse("the event is of another agent");
  return one;
}

/** Without the input of a tool call that is nested too deeply to be written as JSON: any model can make one up. */
function shallow(one: ShipmentDocument): ShipmentDocument {
  if (one.is !== "event" || one.event.tool === null || !isTooDeep(one.event.tool.input)) return one;
  const tool: EventDocument["event"]["tool"] = { ...one.event.tool, input: "(nested too deeply to be stored)" };
  return { ...one, event: { ...one.event, tool } };
}
