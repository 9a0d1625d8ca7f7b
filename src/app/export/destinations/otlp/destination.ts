import { gzipSync } from "node:zlib";
import type { Parcel } from "../../../../core/ports/outbox.ts";
import type { RedactionRules } from "../../../../core/redaction/redaction.ts";
import { printJson } from "../../../../core/tools/json.ts";
import { partialSuccess, protobuf } from "../../../../exporters/otlp/protobuf.ts";
import { attributes, exportRequest, type KeyValue, type OtlpSpan } from "../../../../exporters/otlp/shape.ts";
import { otlpSpans } from "../../../../exporters/otlp/spans.ts";
import { isComplete, type Trace } from "../../../../exporters/trace/span.ts";
import { Failure } from "../../../failure.ts";
import type { Env } from "../../../home.ts";
import { productVersion } from "../../../version.ts";
import { checkedUrl, type Destination, type Plan } from "../../destination.ts";

const LIMIT = { items: 512, bytes: 4 << 20 };
const TIMEOUT_MS = 10_000;
const FORMS = ["http/protobuf", "http/json"];

/** The collector configured by OpenTelemetry's environment variables. */
export function otlpDestination(env: Env, redaction: RedactionRules): Destination {
  const given = (name: string) => env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`];
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT || "http://localhost:4318";
  const url = checkedUrl(
    env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || `${base.replace(/\/+$/, "")}/v1/traces`,
    "OTEL_EXPORTER_OTLP_ENDPOINT",
  );
  const form = given("PROTOCOL") ?? "http/protobuf";
  if (!FORMS.includes(form))
    throw new Failure("usage", `OTEL_EXPORTER_OTLP_PROTOCOL ${form} is not supported`, [
      `write ${FORMS.join(" or ")}; collectors accept both on port 4318`,
    ]);
  const isPacked = given("COMPRESSION") === "gzip";
  const resource = resourceOf(env);
  const version = productVersion();
  const requestOf = (bodies: readonly Uint8Array[]) =>
    exportRequest(
      bodies.map((one) => JSON.parse(Buffer.from(one).toString()) as OtlpSpan),
      resource,
      version,
    );
  const json = (bodies: readonly Uint8Array[]) => JSON.stringify(requestOf(bodies));
  return {
    format: "otlp",
    name: `otlp ${url}`,
    url,
    headers: { "user-agent": `retinue/${version}`, ...pairs(given("HEADERS") ?? "") },
    timeoutMs: Number(given("TIMEOUT")) || TIMEOUT_MS,
    limit: LIMIT,
    redaction,
    plan: (_, traces, { wholeTurns }) => planOf(traces, wholeTurns),
    // Spans are only sent once ended.
    ending: () => null,
    encode: (bodies) => {
      const body = form === "http/json" ? Buffer.from(json(bodies)) : protobuf(requestOf(bodies));
      const headers = { "content-type": form === "http/json" ? "application/json" : "application/x-protobuf" };
      return isPacked
        ? { headers: { ...headers, "content-encoding": "gzip" }, body: gzipSync(body) }
        : { headers, body };
    },
    shown: (bodies) => printJson(requestOf(bodies), 2),
    turnedDown,
  };
}

function planOf(traces: readonly Trace[], wholeTurns: boolean): Plan {
  const spans = otlpSpans(traces, wholeTurns ? isComplete : () => true);
  return {
    traces: new Set(spans.map(({ traceId }) => traceId)).size,
    items: spans.length,
    tooOld: 0,
    tooMany: 0,
    isOpen: !traces.every(isComplete),
    parcels: (find) => spans.filter(({ spanId }) => find(spanId) === undefined).map(parcelOf),
  };
}

/** Keyed by the span alone, so that it stays the same span if it moves to another trace. */
const parcelOf = (span: OtlpSpan): Parcel => ({
  key: span.spanId,
  place: span.traceId,
  isEnd: true,
  batch: span.traceId,
  what: `span ${span.name}`,
  body: Buffer.from(JSON.stringify(span)),
});

/** A collector may accept a request and drop spans; these must not be sent again. */
function turnedDown(response: Uint8Array): string | null {
  const { rejected, reason } = partialSuccess(response);
  return rejected === 0 ? null : `${rejected} spans: ${reason || "no reason given"}`;
}

function resourceOf(env: Env): KeyValue[] {
  const given = pairs(env.OTEL_RESOURCE_ATTRIBUTES ?? "");
  return attributes({
    "service.name": "retinue",
    ...given,
    ...(env.OTEL_SERVICE_NAME ? { "service.name": env.OTEL_SERVICE_NAME } : {}),
  });
}

/** `a=b,c=d`, percent-encoded. */
function pairs(text: string): Record<string, string> {
  const decoded = (part: string) => {
    try {
      return decodeURIComponent(part.trim());
    } catch {
      // Not percent-encoded; used as it is.
      return part.trim();
    }
  };
  return Object.fromEntries(
    text.split(",").flatMap((pair) => {
      const at = pair.indexOf("=");
      return at < 1 ? [] : [[decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))]];
    }),
  );
}
