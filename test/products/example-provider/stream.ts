import type { FindingsOf } from "../../../src/core/ports/findings.ts";
import type { Wrapping } from "../../../src/core/ports/provider.ts";
import type { JsonObject } from "../../../src/core/tools/json.ts";
import type { LiveReader } from "../../../src/providers/kit/live-stream.ts";
import { outputOnly } from "../../../src/providers/kit/live-stream.ts";
import * as key from "./keys.ts";
import { eventIn, readRecord, threadIn, timeIn } from "./records.ts";

/** The output of `example run --json`: the records of the transcript, as they are written. */
export class ExampleStream implements LiveReader {
  threadIn(json: JsonObject) {
    const id = threadIn(json);
    return id === null ? null : key.thread(id);
  }

  timeIn = timeIn;
  read = (out: FindingsOf, json: JsonObject, thread: ReturnType<typeof key.thread>) => readRecord(out, json, thread);

  events(json: JsonObject, thread: ReturnType<typeof key.thread>, at: number | null) {
    const event = eventIn(json, thread, at);
    return event === null ? [] : [event];
  }

  save = () => null;
}

export const isPrinted = (json: JsonObject) => (json.type === "session" && json.product === "example" ? true : null);

export function wrap(command: readonly string[]): Wrapping | null {
  const [program = "", ...args] = command;
  if (!/(?:^|[\\/])example$/.test(program)) return null;
  const speaks = args.includes("--json");
  return outputOnly(speaks, speaks || args[0] !== "run" ? null : [...command, "--json"]);
}
