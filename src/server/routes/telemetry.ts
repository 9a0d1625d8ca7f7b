import { gunzipSync } from "node:zlib";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { keepTelemetry } from "../../app/telemetry.ts";
import { asObject, type JsonObject, parseJson } from "../../core/json.ts";
import { decodeOtlp, type Signal } from "../../core/otlp.ts";
import type { ServerContext } from "../context.ts";
import { answers } from "../describe.ts";
import { refusal } from "../failures.ts";
import { OtlpTaken } from "../schemas.ts";

/** Exporters send batches; this is many times what any of them does. */
const MAX_BYTES = 32 << 20;
const PROTOBUF = "application/x-protobuf";

/** OTLP over HTTP, JSON and protobuf: agents that export their own telemetry may send it here. */
export function telemetryRoutes(context: ServerContext): Hono {
  const take = (signal: Signal, rejected: string) => async (c: Context) => {
    const isProtobuf = c.req.header("content-type")?.startsWith(PROTOBUF) === true;
    const request = requestIn(signal, Buffer.from(await c.req.arrayBuffer()), isProtobuf, c.req.header("content-encoding"));
    if (request === null) return refusal(c, "usage", `this is no OTLP request of ${signal}`, "send OTLP as JSON or as protobuf");
    const { refused, recordings } = keepTelemetry(signal, request, context.env);
    context.state.tell(recordings);
    // An empty answer says that everything was taken; whoever sends protobuf wants protobuf.
    if (isProtobuf) return c.body(new Uint8Array(), 200, { "Content-Type": PROTOBUF });
    return c.json(refused === 0 ? {} : { partialSuccess: { [rejected]: refused, errorMessage: "only telemetry of agents is taken" } });
  };
  return new Hono()
    .use(bodyLimit({ maxSize: MAX_BYTES, onError: (c) => refusal(c, "too_large", `a request has at most ${MAX_BYTES} bytes`, null) }))
    .post(
      "/traces",
      answers("OTLP traces of an agent's own telemetry, as JSON or protobuf", OtlpTaken, ["usage", "too_large"]),
      take("traces", "rejectedSpans"),
    )
    .post(
      "/logs",
      answers("OTLP logs of an agent's own telemetry, as JSON or protobuf", OtlpTaken, ["usage", "too_large"]),
      take("logs", "rejectedLogRecords"),
    );
}

function requestIn(signal: Signal, body: Buffer, isProtobuf: boolean, encoding: string | undefined): JsonObject | null {
  try {
    const bytes = encoding === "gzip" ? gunzipSync(body, { maxOutputLength: MAX_BYTES }) : body;
    return isProtobuf ? decodeOtlp(signal, bytes) : asObject(parseJson(bytes.toString("utf8"))?.value);
  } catch {
    // Packed by somebody else's rules, or cut off.
    return null;
  }
}
