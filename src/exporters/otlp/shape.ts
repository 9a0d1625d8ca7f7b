/** The part of OTLP's JSON encoding that retinue writes. 64-bit integers are strings. */

export type AnyValue =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly AnyValue[] } };

export interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: typeof INTERNAL | typeof CLIENT;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly events: readonly {
    readonly timeUnixNano: string;
    readonly name: string;
    readonly attributes: readonly KeyValue[];
  }[];
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: readonly KeyValue[];
  }[];
  readonly status: { readonly code: typeof UNSET | typeof ERROR; readonly message?: string };
}

export interface ExportRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version: string };
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

export const INTERNAL = 1;
export const CLIENT = 3;
export const UNSET = 0;
export const ERROR = 2;

export type Attribute = string | number | boolean | readonly string[] | null | undefined;

/** Omits unknown values. */
export function attributes(values: Readonly<Record<string, Attribute>>): KeyValue[] {
  return Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [{ key, value: anyValue(value) }],
  );
}

function anyValue(value: string | number | boolean | readonly string[]): AnyValue {
  if (typeof value === "string") return { stringValue: value.toWellFormed() };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map(anyValue) } };
}

/** Milliseconds as a string of nanoseconds; not negative. */
export const nanos = (ms: number) => String(BigInt(Math.max(0, Math.round(ms))) * 1_000_000n);

/** An export request for spans of one resource. */
export function exportRequest(
  spans: readonly OtlpSpan[],
  resource: readonly KeyValue[],
  version: string,
): ExportRequest {
  return {
    resourceSpans: [
      { resource: { attributes: resource }, scopeSpans: [{ scope: { name: "retinue", version }, spans }] },
    ],
  };
}
