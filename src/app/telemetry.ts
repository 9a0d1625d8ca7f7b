import { join } from "node:path";
import { asList, asObject, asText, type JsonObject } from "../core/json.ts";
import { attributesOf, SIGNALS, type Signal } from "../core/otlp.ts";
import { PROVIDERS } from "../providers/index.ts";
import { Recorder } from "../transports/recorder.ts";
import { type Env, recordingsRoot } from "./home.ts";

/** What became of an OTLP request: how many of its entries are of products that we know, and where these are kept. */
export interface Kept {
  readonly taken: number;
  readonly refused: number;
  readonly recordings: readonly string[];
}

/** Keeps what a product's own telemetry says, as it came, a file a day. What is nobody's is left alone. */
export function keepTelemetry(signal: Signal, request: JsonObject, env: Env, now = Date.now()): Kept {
  const { list } = SIGNALS[signal];
  const recordings = new Set<string>();
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
    const recorder = new Recorder(path);
    recorder.line(JSON.stringify({ [list]: [entry] }), now);
    recorder.close();
    recordings.add(path);
  }
  return { taken, refused, recordings: [...recordings] };
}
