import { asList, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { parseJsonWithin } from "../../core/tools/json-within.ts";
import { MAX_OTLP_DEPTH, MAX_OTLP_FIELDS, TooLarge } from "../../core/tools/limits.ts";

/**
 * Decodes OpenTelemetry's protobuf traces and logs into the shape of OTLP's JSON. Hand-written, because it is a table
 * of field numbers and four wire types (docs/adr/011).
 */
type Kind = "text" | "hex" | "bool" | "int" | "fixed64" | "double" | "bytes" | Message;
interface Message {
  readonly [field: number]: readonly [name: string, kind: Kind, isList?: true];
}

const VALUE: Message = {
  1: ["stringValue", "text"],
  2: ["boolValue", "bool"],
  3: ["intValue", "int"],
  4: ["doubleValue", "double"],
  7: ["bytesValue", "bytes"],
};
const ATTRIBUTE: Message = { 1: ["key", "text"], 2: ["value", VALUE] };
Object.assign(VALUE, {
  5: ["arrayValue", { 1: ["values", VALUE, true] }],
  6: ["kvlistValue", { 1: ["values", ATTRIBUTE, true] }],
});
const RESOURCE: Message = { 1: ["attributes", ATTRIBUTE, true] };
const SCOPE: Message = { 1: ["name", "text"], 2: ["version", "text"] };
const SPAN: Message = {
  1: ["traceId", "hex"],
  2: ["spanId", "hex"],
  4: ["parentSpanId", "hex"],
  5: ["name", "text"],
  6: ["kind", "int"],
  7: ["startTimeUnixNano", "fixed64"],
  8: ["endTimeUnixNano", "fixed64"],
  9: ["attributes", ATTRIBUTE, true],
  15: ["status", { 2: ["message", "text"], 3: ["code", "int"] }],
};
const LOG: Message = {
  1: ["timeUnixNano", "fixed64"],
  2: ["severityNumber", "int"],
  3: ["severityText", "text"],
  5: ["body", VALUE],
  6: ["attributes", ATTRIBUTE, true],
  9: ["traceId", "hex"],
  10: ["spanId", "hex"],
  11: ["observedTimeUnixNano", "fixed64"],
  12: ["eventName", "text"],
};
const inResource = (scopes: string, items: string, item: Message): Message => ({
  1: ["resource", RESOURCE],
  2: [scopes, { 1: ["scope", SCOPE], 2: [items, item, true] }, true],
});

/** The content of a request, by route. */
export const SIGNALS = {
  traces: { list: "resourceSpans", message: { 1: ["resourceSpans", inResource("scopeSpans", "spans", SPAN), true] } },
  logs: { list: "resourceLogs", message: { 1: ["resourceLogs", inResource("scopeLogs", "logRecords", LOG), true] } },
} as const satisfies Record<string, { list: string; message: Message }>;
export type Signal = keyof typeof SIGNALS;

const decoder = new TextDecoder();

/** Decodes a request in protobuf. Throws if the bytes are malformed or exceed the limits. */
export function decodeOtlp(signal: Signal, bytes: Uint8Array): JsonObject {
  return message(new Wire(bytes, { fields: MAX_OTLP_FIELDS }), SIGNALS[signal].message, 1);
}

/** Parses a request in JSON; null if it is not an object. Throws if it exceeds the limits. */
export function parseOtlp(text: string): JsonObject | null {
  return asObject(parseJsonWithin(text, { depth: MAX_OTLP_DEPTH, values: MAX_OTLP_FIELDS }));
}

function message(wire: Wire, fields: Message, depth: number): JsonObject {
  if (depth > MAX_OTLP_DEPTH) throw new RangeError(`nested more than ${MAX_OTLP_DEPTH} levels deep`);
  const found: Record<string, unknown> = {};
  while (!wire.isAtEnd) {
    const tag = wire.tag();
    const [number, type] = [tag >>> 3, tag & 7];
    const field = fields[number];
    if (field === undefined) {
      wire.skip(type);
      continue;
    }
    const [name, kind, isList] = field;
    const value = typeof kind === "object" ? message(wire.inner(), kind, depth + 1) : read(wire, kind);
    if (isList !== true) found[name] = value;
    else if (Object.hasOwn(found, name)) (found[name] as unknown[]).push(value);
    else found[name] = [value];
  }
  return found;
}

/** Ids have 8 or 16 bytes. */
const MAX_ID = 32;

function read(wire: Wire, kind: Exclude<Kind, Message>): unknown {
  switch (kind) {
    case "text":
      return decoder.decode(wire.bytes());
    case "hex":
      return hex(wire.bytes());
    case "bytes":
      return base64(wire.bytes());
    case "bool":
      return wire.varint() !== 0n;
    case "int":
      return String(BigInt.asIntN(64, wire.varint()));
    case "fixed64":
      return String(wire.fixed64());
    case "double":
      return wire.double();
    default:
      return kind satisfies never;
  }
}

function hex(bytes: Uint8Array): string {
  if (bytes.length > MAX_ID) throw new RangeError(`an id of ${bytes.length} bytes`);
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A multiple of 3, so that the parts can be joined; small enough for the arguments of a call. */
const BASE64_PART = 3 << 12;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += BASE64_PART)
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + BASE64_PART)));
  return text;
}

/** Reads protobuf's wire format. */
class Wire {
  readonly #view: DataView;
  /** Shared by all messages of a request. */
  readonly #left: { fields: number };
  #at = 0;

  constructor(bytes: Uint8Array, left: { fields: number }) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#left = left;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#view.byteLength;
  }

  tag(): number {
    this.#left.fields -= 1;
    if (this.#left.fields < 0) throw new TooLarge(`more than ${MAX_OTLP_FIELDS} fields`);
    return Number(this.varint());
  }

  /** The embedded message of a field. */
  inner(): Wire {
    return new Wire(this.bytes(), this.#left);
  }

  varint(): bigint {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#view.getUint8(this.#at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new RangeError("a varint of more than 10 bytes");
  }

  bytes(): Uint8Array {
    return this.#take(Number(this.varint()));
  }

  fixed64(): bigint {
    const value = this.#view.getBigUint64(this.#at, true);
    this.#at += 8;
    return value;
  }

  double(): number {
    const value = this.#view.getFloat64(this.#at, true);
    this.#at += 8;
    return value;
  }

  skip(type: number): void {
    if (type === 0) this.varint();
    else if (type === 1) this.#take(8);
    else if (type === 2) this.bytes();
    else if (type === 5) this.#take(4);
    else throw new RangeError(`unknown wire type ${type}`);
  }

  #take(length: number): Uint8Array {
    if (this.#at + length > this.#view.byteLength) throw new RangeError("a truncated message");
    const bytes = new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.#at, length);
    this.#at += length;
    return bytes;
  }
}

/** Attributes by name. Numbers beyond JSON's range stay strings, as in OTLP. */
export function attributesOf(item: JsonObject | null): JsonObject {
  return Object.fromEntries(
    asList(item?.attributes).flatMap((one) => {
      const attribute = asObject(one);
      const key = asText(attribute?.key);
      return key === null ? [] : [[key, plainValue(asObject(attribute?.value))] as const];
    }),
  );
}

function plainValue(value: JsonObject | null): unknown {
  if (value === null) return null;
  if ("intValue" in value) return Number(value.intValue);
  return value.stringValue ?? value.boolValue ?? value.doubleValue ?? null;
}

/** Epoch milliseconds of nanoseconds, given as a string or a number. */
export function nanoTime(value: unknown): number | null {
  const nanos =
    typeof value === "string" && /^\d{1,19}$/.test(value) ? Number(value) : typeof value === "number" ? value : 0;
  return nanos > 0 ? Math.round(nanos / 1e6) : null;
}

/** All items of a request, each with the attributes of its resource. */
export function* itemsIn(request: JsonObject): Generator<{ readonly item: JsonObject; readonly resource: JsonObject }> {
  const [resources, scopes, items] =
    "resourceSpans" in request ? ["resourceSpans", "scopeSpans", "spans"] : ["resourceLogs", "scopeLogs", "logRecords"];
  for (const entry of asList(request[resources ?? ""])) {
    const from = asObject(entry);
    const resource = attributesOf(asObject(from?.resource));
    for (const scope of asList(from?.[scopes ?? ""]))
      for (const one of asList(asObject(scope)?.[items ?? ""])) {
        const item = asObject(one);
        if (item !== null) yield { item, resource };
      }
  }
}
