import { asCount, asObject, asText, parseJson } from "../../core/tools/json.ts";
import type { AnyValue, ExportRequest, KeyValue, OtlpSpan } from "./shape.ts";

/**
 * The same request in OTLP's binary encoding (opentelemetry-proto 1.x). docs/adr/014 explains why it is hand-written.
 */
export function protobuf(request: ExportRequest): Uint8Array {
  const resourceSpans = request.resourceSpans.map(({ resource, scopeSpans }) =>
    message(1, [
      message(1, resource.attributes.map(keyValue(1))),
      ...scopeSpans.map(({ scope, spans }) =>
        message(2, [message(1, [text(1, scope.name), text(2, scope.version)]), ...spans.map(spanMessage)]),
      ),
    ]),
  );
  return Buffer.concat(resourceSpans);
}

function spanMessage(span: OtlpSpan): Buffer {
  return message(2, [
    hex(1, span.traceId),
    hex(2, span.spanId),
    ...(span.parentSpanId === undefined ? [] : [hex(4, span.parentSpanId)]),
    text(5, span.name),
    number(6, BigInt(span.kind)),
    fixed64(7, span.startTimeUnixNano),
    fixed64(8, span.endTimeUnixNano),
    ...span.attributes.map(keyValue(9)),
    ...span.events.map((event) =>
      message(11, [fixed64(1, event.timeUnixNano), text(2, event.name), ...event.attributes.map(keyValue(3))]),
    ),
    ...span.links.map((link) =>
      message(13, [hex(1, link.traceId), hex(2, link.spanId), ...link.attributes.map(keyValue(4))]),
    ),
    message(15, [
      ...(span.status.message === undefined ? [] : [text(2, span.status.message)]),
      number(3, BigInt(span.status.code)),
    ]),
  ]);
}

const keyValue =
  (field: number) =>
  ({ key, value }: KeyValue): Buffer =>
    message(field, [text(1, key), message(2, [anyValue(value)])]);

function anyValue(value: AnyValue): Buffer {
  if ("stringValue" in value) return text(1, value.stringValue);
  if ("boolValue" in value) return number(2, value.boolValue ? 1n : 0n);
  if ("intValue" in value) return number(3, BigInt.asUintN(64, BigInt(value.intValue)));
  if ("doubleValue" in value) return double(4, value.doubleValue);
  return message(
    5,
    value.arrayValue.values.map((item) => message(1, [anyValue(item)])),
  );
}

const [VARINT, FIXED64, BYTES] = [0, 1, 2];

const tag = (field: number, wire: number) => varint(BigInt(field * 8 + wire));

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest >>= 7n) {
    const low = Number(rest & 127n);
    if (rest < 128n) return Buffer.from([...bytes, low]);
    bytes.push(low | 128);
  }
}

const number = (field: number, value: bigint) => Buffer.concat([tag(field, VARINT), varint(value)]);
const bytes = (field: number, value: Buffer) => Buffer.concat([tag(field, BYTES), varint(BigInt(value.length)), value]);
const text = (field: number, value: string) => bytes(field, Buffer.from(value));
const hex = (field: number, value: string) => bytes(field, Buffer.from(value, "hex"));
const message = (field: number, parts: readonly Buffer[]) => bytes(field, Buffer.concat(parts));

function fixed64(field: number, value: string): Buffer {
  const eight = Buffer.alloc(8);
  eight.writeBigUInt64LE(BigInt(value));
  return Buffer.concat([tag(field, FIXED64), eight]);
}

function double(field: number, value: number): Buffer {
  const eight = Buffer.alloc(8);
  eight.writeDoubleLE(value);
  return Buffer.concat([tag(field, FIXED64), eight]);
}

export interface PartialSuccess {
  readonly rejected: number;
  readonly reason: string;
}

/** The spans that a collector dropped, from JSON or protobuf. An unreadable response counts as none. */
export function partialSuccess(response: Uint8Array): PartialSuccess {
  const json = asObject(parseJson(Buffer.from(response).toString())?.value);
  if (json !== null) {
    const partial = asObject(json.partialSuccess);
    return { rejected: asCount(Number(partial?.rejectedSpans ?? 0)), reason: asText(partial?.errorMessage) ?? "" };
  }
  const inner = fieldsOf(response).get(1);
  const partial = fieldsOf(inner instanceof Uint8Array ? inner : undefined);
  const [rejected, reason] = [partial.get(1), partial.get(2)];
  return {
    rejected: typeof rejected === "number" ? rejected : 0,
    reason: rejected === undefined || !(reason instanceof Uint8Array) ? "" : Buffer.from(reason).toString(),
  };
}

/** Numeric and bytes fields of a message, as far as it can be parsed. */
function fieldsOf(message: Uint8Array | undefined): Map<number, number | Uint8Array> {
  const fields = new Map<number, number | Uint8Array>();
  let at = 0;
  const next = () => {
    let value = 0;
    for (let power = 1; ; power *= 128) {
      const byte = message?.[at++] ?? 0;
      value += (byte & 127) * power;
      if (byte < 128) return value;
    }
  };
  while (message !== undefined && at < message.length) {
    const mark = next();
    const wire = mark % 8;
    if (wire !== VARINT && wire !== BYTES) break;
    const value = next();
    fields.set(Math.floor(mark / 8), wire === VARINT ? value : message.subarray(at, at + value));
    if (wire === BYTES) at += value;
  }
  return fields;
}
