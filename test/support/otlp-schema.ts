/**
 * Decodes binary OTLP by its published schema (opentelemetry-proto 1.x, trace service), independently of the encoder.
 */

type Kind = "bytes" | "string" | "uint" | "fixed64" | "double" | "bool" | Schema;
interface Schema {
  readonly [field: number]: { readonly name: string; readonly kind: Kind | (() => Schema); readonly many?: true };
}

const ANY: Schema = {
  1: { name: "stringValue", kind: "string" },
  2: { name: "boolValue", kind: "bool" },
  3: { name: "intValue", kind: "uint" },
  4: { name: "doubleValue", kind: "double" },
  5: { name: "arrayValue", kind: () => ({ 1: { name: "values", kind: ANY, many: true } }) },
};
const KEY_VALUE: Schema = { 1: { name: "key", kind: "string" }, 2: { name: "value", kind: ANY } };
const attributes = { name: "attributes", kind: KEY_VALUE, many: true } as const;
const SPAN: Schema = {
  1: { name: "traceId", kind: "bytes" },
  2: { name: "spanId", kind: "bytes" },
  3: { name: "traceState", kind: "string" },
  4: { name: "parentSpanId", kind: "bytes" },
  5: { name: "name", kind: "string" },
  6: { name: "kind", kind: "uint" },
  7: { name: "startTimeUnixNano", kind: "fixed64" },
  8: { name: "endTimeUnixNano", kind: "fixed64" },
  9: attributes,
  11: {
    name: "events",
    kind: { 1: { name: "timeUnixNano", kind: "fixed64" }, 2: { name: "name", kind: "string" }, 3: attributes },
    many: true,
  },
  13: {
    name: "links",
    kind: {
      1: { name: "traceId", kind: "bytes" },
      2: { name: "spanId", kind: "bytes" },
      3: { name: "traceState", kind: "string" },
      4: attributes,
    },
    many: true,
  },
  15: { name: "status", kind: { 2: { name: "message", kind: "string" }, 3: { name: "code", kind: "uint" } } },
};
const REQUEST: Schema = {
  1: {
    name: "resourceSpans",
    kind: {
      1: { name: "resource", kind: { 1: attributes } },
      2: {
        name: "scopeSpans",
        kind: {
          1: { name: "scope", kind: { 1: { name: "name", kind: "string" }, 2: { name: "version", kind: "string" } } },
          2: { name: "spans", kind: SPAN, many: true },
        },
        many: true,
      },
    },
    many: true,
  },
};

/** In the shape of OTLP/JSON: ids as hex, 64-bit numbers as strings. Throws on anything that is not in the schema. */
export const readRequest = (bytes: Buffer) => read(bytes, REQUEST);

function read(bytes: Buffer, schema: Schema): Record<string, unknown> {
  const message: Record<string, unknown> = {};
  for (const field of Object.values(schema)) if (field.many) message[field.name] = [];
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = schema[tag >> 3];
    if (field === undefined) throw new Error(`unknown field ${tag >> 3}`);
    const kind = typeof field.kind === "function" ? field.kind() : field.kind;
    const value = ((): unknown => {
      switch (tag & 7) {
        case 0: {
          const number = varint();
          if (kind === "bool") return number === 1n;
          if (kind !== "uint") throw new Error(`${field.name} is no number`);
          return field.name === "intValue" ? String(BigInt.asIntN(64, number)) : Number(number);
        }
        case 1: {
          at += 8;
          if (kind === "double") return bytes.readDoubleLE(at - 8);
          if (kind !== "fixed64") throw new Error(`${field.name} is not of 64 bits`);
          return String(bytes.readBigUInt64LE(at - 8));
        }
        case 2: {
          const length = Number(varint());
          const part = bytes.subarray(at, at + length);
          if (part.length !== length) throw new Error(`${field.name} is cut off`);
          at += length;
          if (kind === "string") return new TextDecoder("utf-8", { fatal: true }).decode(part);
          if (kind === "bytes") return part.toString("hex");
          if (typeof kind === "string") throw new Error(`${field.name} is no message`);
          return read(part, kind);
        }
        default:
          throw new Error(`wire type ${tag & 7}`);
      }
    })();
    if (field.many) (message[field.name] as unknown[]).push(value);
    else message[field.name] = value;
  }
  return message;
}
