import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import * as v from "valibot";
import { LIST_PART, type ShipmentDocument, type ShipmentHead } from "../../core/ports/shipment.ts";
import { TooLarge } from "../../core/tools/limits.ts";
import { Agent, count, Messages, Span, Usage, WholeEvent, Why } from "../schemas.ts";

const unpack = promisify(gunzip);

/** Limits of one shipment. A sender splits what is larger. */
export const SHIPMENT_LIMITS = {
  compressedBytes: 8 << 20,
  bytes: 64 << 20,
  lineBytes: 4 << 20,
  documents: 5_000,
} as const;

/** A line that is not part of a shipment; nothing of the shipment is stored. */
export class MalformedLine extends Error {
  readonly line: number;

  constructor(line: number, what: string) {
    super(`line ${line}: ${what}`);
    this.name = "MalformedLine";
    this.line = line;
  }
}

const MAX_URI = 2_000;
const uri = v.pipe(v.string(), v.minLength(1), v.maxLength(MAX_URI), v.regex(/^[^\0]+$/));
/** Revisions are microseconds since 1970, so this is the year 2100. There must always be a higher one. */
const MAX_REVISION = 4_102_444_800_000_000;
const revision = v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(MAX_REVISION));
const position = v.pipe(count, v.maxValue(2_000_000_000));
const text = v.nullable(v.string());
const about = { thread: uri, revision };

const SpentRow = v.object({
  day: v.nullable(v.pipe(v.string(), v.isoDate())),
  provider: v.string(),
  model: text,
  type: text,
  project: text,
  template: text,
  status: v.string(),
  thread: uri,
  agents: count,
  durationMs: v.number(),
  usage: Usage,
});
const Call = v.looseObject({ event: text });
const part = v.pipe(position, v.multipleOf(LIST_PART));
const items = <S extends v.GenericSchema>(schema: S) => v.pipe(v.array(schema), v.maxLength(LIST_PART));

const DOCUMENTS = {
  agent: v.object({
    ...about,
    is: v.literal("agent"),
    uri,
    parent: v.nullable(uri),
    place: position,
    record: v.pipe(v.looseObject({ ...Agent.entries })),
  }),
  removed: v.object({ ...about, is: v.literal("removed"), uri }),
  event: v.object({
    ...about,
    is: v.literal("event"),
    agent: uri,
    at: position,
    event: v.looseObject({ ...WholeEvent.entries }),
  }),
  "events-from": v.object({ ...about, is: v.literal("events-from"), agent: uri, at: position }),
  spans: v.object({ ...about, is: v.literal("spans"), agent: uri, at: part, items: items(Span) }),
  calls: v.object({ ...about, is: v.literal("calls"), agent: uri, at: part, items: items(Call) }),
  why: v.object({ ...about, is: v.literal("detail"), agent: uri, what: v.literal("why"), value: Why }),
  messages: v.object({
    ...about,
    is: v.literal("detail"),
    agent: uri,
    what: v.literal("messages"),
    value: Messages.entries.items,
  }),
  spent: v.object({
    ...about,
    is: v.literal("detail"),
    agent: uri,
    what: v.literal("spent"),
    value: v.array(SpentRow),
  }),
  reports: v.object({
    ...about,
    is: v.literal("detail"),
    agent: uri,
    what: v.literal("reports"),
    value: v.array(v.object({ event: v.string(), agents: v.array(v.string()) })),
  }),
} as const;

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(100), v.regex(/^[^\0]+$/));
const Head = v.object({
  schema: v.literal("retinue/shipment@1"),
  machine: name,
  version: name,
});

export interface ParsedShipment {
  readonly head: ShipmentHead;
  readonly documents: readonly ShipmentDocument[];
}

/** Unpacks and checks a shipment. The limits hold before anything is parsed. */
export async function parseShipment(body: Buffer, isCompressed: boolean): Promise<ParsedShipment> {
  const { bytes, lineBytes, documents: most } = SHIPMENT_LIMITS;
  const unpacked = isCompressed ? await decompressed(body) : body;
  if (unpacked.length > bytes) throw new TooLarge(`a shipment has at most ${bytes} bytes unpacked`);
  const lines = unpacked.toString("utf8").split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (lines.length - 1 > most) throw new TooLarge(`a shipment has at most ${most} documents`);
  const [first = "", ...rest] = lines;
  const head = checked(Head, json(first, 1), 1);
  const documents = rest.map((line, i) => {
    if (Buffer.byteLength(line) > lineBytes)
      throw new TooLarge(`line ${i + 2}: a document has at most ${lineBytes} bytes`);
    return document(json(line, i + 2), i + 2);
  });
  return { head, documents };
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
    throw new MalformedLine(number, "not JSON");
  }
}

function checked<S extends v.GenericSchema>(schema: S, value: unknown, line: number): v.InferOutput<S> {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const [issue] = result.issues;
  const where = v.getDotPath(issue);
  throw new MalformedLine(line, `${where === null ? "" : `${where}: `}${issue.message}`);
}

function document(value: unknown, line: number): ShipmentDocument {
  const { is, what } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const name = String(is === "detail" ? what : is);
  const schema = Object.hasOwn(DOCUMENTS, name) ? DOCUMENTS[name as keyof typeof DOCUMENTS] : undefined;
  if (schema === undefined)
    throw new MalformedLine(
      line,
      `unknown kind of document ${JSON.stringify(name)}; this server may be older than the sender`,
    );
  checked(schema, value, line);
  const one = value as ShipmentDocument;
  // What is not described here is stored as it is; newer versions may add fields.
  if (one.is === "agent" && (one.record.uri !== one.uri || one.record.parent !== one.parent))
    throw new MalformedLine(line, "the record is of another agent");
  if (one.is === "agent" && one.parent === one.uri) throw new MalformedLine(line, "parent: the agent itself");
  if (one.is === "event" && one.event.uri !== one.agent) throw new MalformedLine(line, "the event is of another agent");
  return one;
}
