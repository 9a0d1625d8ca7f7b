import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { keepTelemetry, telemetryIn } from "../../app/telemetry.ts";
import { MAX_OTLP_BYTES } from "../../core/limits.ts";
import type { Signal } from "../../core/otlp.ts";
import type { ServerContext } from "../context.ts";
import { answers } from "../describe.ts";
import { refusal } from "../failures.ts";
import { OtlpTaken } from "../schemas.ts";

const PROTOBUF = "application/x-protobuf";

/** OTLP over HTTP, JSON and protobuf: agents that export their own telemetry may send it here. */
export function telemetryRoutes(context: ServerContext): Hono {
  const take = (signal: Signal, rejected: string) => async (c: Context) => {
    const isProtobuf = c.req.header("content-type")?.startsWith(PROTOBUF) === true;
    const encoding = c.req.header("content-encoding")?.trim().toLowerCase() || null;
    const request = telemetryIn(signal, Buffer.from(await c.req.arrayBuffer()), { isProtobuf, encoding });
    const { refused, recordings } = keepTelemetry(signal, request, context.env);
    context.state.tell(recordings);
    // An empty answer says that everything was taken; whoever sends protobuf wants protobuf.
    if (isProtobuf) return c.body(new Uint8Array(), 200, { "Content-Type": PROTOBUF });
    return c.json(refused === 0 ? {} : { partialSuccess: { [rejected]: refused, errorMessage: "only telemetry of agents is taken" } });
  };
  return new Hono()
    .use(bodyLimit({ maxSize: MAX_OTLP_BYTES, onError: (c) => refusal(c, "too_large", `a request has at most ${MAX_OTLP_BYTES} bytes`, null) }))
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
