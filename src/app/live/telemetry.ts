import { join } from "node:path";
import { asList, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { MAX_OTLP_BYTES, TooLarge } from "../../core/tools/limits.ts";
import { attributesOf, decodeOtlp, parseOtlp, SIGNALS, type Signal } from "../../providers/kit/otlp.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { Recorder } from "../../transports/recorder.ts";
import { unpackWhole } from "../../transports/unpack.ts";
import { Failure } from "../failure.ts";
import { type Env, recordingsRoot } from "../home.ts";

export type { Signal } from "../../providers/kit/otlp.ts";

/** The result of an OTLP request: number of entries of known products, and the files they were written to. */
export interface TelemetryResult {
  readonly taken: number;
  readonly refused: number;
  readonly recordings: readonly string[];
}

/** Decompresses and parses the request. Throws a `Failure` or `TooLarge`. */
export function telemetryIn(
  signal: Signal,
  body: Buffer,
  { isProtobuf, encoding }: { readonly isProtobuf: boolean; readonly encoding: string | null },
): JsonObject {
  let request: JsonObject | null;
  try {
    const bytes = unpackWhole(body, encoding, MAX_OTLP_BYTES);
    request = isProtobuf ? decodeOtlp(signal, bytes) : parseOtlp(bytes.toString());
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof TooLarge) throw error;
    throw new Failure("usage", `not an OTLP request of ${signal}: ${message}`, ["send OTLP as JSON or as protobuf"]);
  }
  if (request === null)
    throw new Failure("usage", `not an OTLP request of ${signal}`, ["send OTLP as JSON or as protobuf"]);
  return request;
}

/** Records the telemetry of known products unparsed, one file per day. Counts other entries as refused. */
export function recordTelemetry(signal: Signal, request: JsonObject, env: Env, now = Date.now()): TelemetryResult {
  const { list } = SIGNALS[signal];
  const recorders = new Map<string, Recorder>();
  let [taken, refused] = [0, 0];
  for (const entry of asList(request[list])) {
    const service = asText(attributesOf(asObject(asObject(entry)?.resource))["service.name"]);
    const provider = PROVIDERS.find((p) => service !== null && p.telemetry === service);
    if (provider === undefined) {
      refused += 1;
      continue;
    }
    taken += 1;
    const path = join(recordingsRoot(env, provider.name), "otlp", `${new Date(now).toISOString().slice(0, 10)}.jsonl`);
    const recorder = recorders.get(path) ?? new Recorder(path);
    recorders.set(path, recorder);
    recorder.line(JSON.stringify({ [list]: [entry] }), now);
  }
  for (const recorder of recorders.values()) recorder.close();
  return { taken, refused, recordings: [...recorders.keys()] };
}
