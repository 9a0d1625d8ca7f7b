import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { recordTelemetry, type Signal, telemetryIn } from "../../app/live/telemetry.ts";
import { MAX_OTLP_BYTES } from "../../core/tools/limits.ts";
import type { ServerContext } from "../context.ts";
import { describeResponse } from "../describe.ts";
import { refusal } from "../failures.ts";
import { OtlpTaken } from "../schemas.ts";

const PROTOBUF = "application/x-protobuf";

/** Receives OTLP over HTTP, as JSON or protobuf, from agents that export telemetry. */
export function telemetryRoutes(context: ServerContext): Hono {
  const receive = (signal: Signal, rejected: string) => async (c: Context) => {
    const isProtobuf = c.req.header("content-type")?.startsWith(PROTOBUF) === true;
    const encoding = c.req.header("content-encoding")?.trim().toLowerCase() || null;
    const request = telemetryIn(signal, Buffer.from(await c.req.arrayBuffer()), { isProtobuf, encoding });
    const { refused, recordings } = recordTelemetry(signal, request, context.env);
    context.state.reportChanged(recordings);
    // An empty response means that everything was accepted; its encoding is that of the request.
    if (isProtobuf) return c.body(new Uint8Array(), 200, { "Content-Type": PROTOBUF });
    return c.json(
      refused === 0
        ? {}
        : { partialSuccess: { [rejected]: refused, errorMessage: "only telemetry of agents is accepted" } },
    );
  };
  return new Hono()
    .use(
      bodyLimit({
        maxSize: MAX_OTLP_BYTES,
        onError: (c) => refusal(c, "too_large", `the request body exceeds ${MAX_OTLP_BYTES} bytes`, null),
      }),
    )
    .post(
      "/traces",
      describeResponse("OTLP traces of an agent's own telemetry, as JSON or protobuf", OtlpTaken, [
        "usage",
        "too_large",
      ]),
      receive("traces", "rejectedSpans"),
    )
    .post(
      "/logs",
      describeResponse("OTLP logs of an agent's own telemetry, as JSON or protobuf", OtlpTaken, ["usage", "too_large"]),
      receive("logs", "rejectedLogRecords"),
    );
}
