import { type AgentKey, partsOf } from "../../../core/facts/ids.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import type { Wrapping } from "../../../core/ports/provider.ts";
import { hash } from "../../../core/tools/hash.ts";
import { asAmount, asNonBlank, asObject, asText, asTime, type JsonObject, jsonText } from "../../../core/tools/json.ts";
import type { EventDraft } from "../../../core/views/event.ts";
import { commandOf, optionIn } from "../command.ts";
import { AT_WORK, type LiveReader, outputOnly, turnEnded } from "../live-stream.ts";
import { eventsOfPart } from "./events.ts";
import { isSessionId, type Keys } from "./keys.ts";
import { partKey, readLonePart } from "./message.ts";
import { type Part, partOf } from "./shapes.ts";
import { tokensOf } from "./tokens.ts";

/** `<program> run --format json`. */
export function wrapOf(programs: readonly string[], argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !programs.includes(command.name)) return null;
  const at = argv.indexOf("run");
  const format = optionIn(command.args, "--format");
  const printsJson = at >= 0 && format === "json";
  return outputOnly(
    printsJson,
    printsJson ? argv : at < 0 || format !== null ? null : argv.toSpliced(at + 1, 0, "--format", "json"),
  );
}

/**
 * Reads `run --format json`: finished parts of the root session, as in the database; of agents below only the
 * spawn calls.
 */
export class OpencodeStream implements LiveReader {
  /** Responses counted so far, by message: each step is one response. */
  readonly #steps: Map<string, number>;
  readonly #key: Keys;
  #isBegun: boolean;

  constructor(key: Keys, saved?: unknown) {
    const memory = saved as
      | { readonly steps: readonly (readonly [string, number])[]; readonly isBegun: boolean }
      | undefined;
    this.#key = key;
    this.#steps = new Map(memory?.steps);
    this.#isBegun = memory?.isBegun ?? false;
  }

  save = () => ({ steps: [...this.#steps], isBegun: this.#isBegun });

  threadIn(line: JsonObject): AgentKey | null {
    const id = asNonBlank(line.sessionID);
    return id === null ? null : this.#key.session(id);
  }

  timeIn = (line: JsonObject) => asTime(line.timestamp);

  read(out: FindingsOf, line: JsonObject, thread: AgentKey, at: number | null) {
    if (!this.#isBegun) out.add(AT_WORK);
    this.#isBegun = true;
    if (line.type === "error") out.add(turnEnded(thread, "errored", `its stream reports an error: ${errorIn(line)}`));
    const part = partIn(line);
    if (part === null) return;
    const session = partsOf(thread).thread;
    // Without the message's id, steps are distinguished by time.
    if (part.type === "step-finish")
      return this.#readStep(out, part.json, asNonBlank(part.json.messageID) ?? `${session} ${at}`, thread);
    readLonePart(this.#key, out.part({ keys: [partKey(this.#key, part)] }), part, session, "model");
  }

  events(line: JsonObject, thread: AgentKey, at: number | null): readonly EventDraft[] {
    if (line.type === "error")
      return [{ speaker: thread, keys: [], at, kind: "error", text: errorIn(line), tool: null, response: null }];
    const part = partIn(line);
    const session = partsOf(thread).thread;
    return part === null
      ? []
      : eventsOfPart(this.#key, part, session, this.#key.record(`${asText(part.json.messageID)} 0`), "model");
  }

  #readStep(out: FindingsOf, step: JsonObject, message: string, thread: AgentKey) {
    const number = this.#steps.get(message) ?? 0;
    this.#steps.set(message, number + 1);
    const costUsd = asAmount(step.cost) || null;
    const call = {
      response: this.#key.record(`${message} ${number}`),
      model: "",
      tokens: tokensOf(step.tokens),
      chars: 0,
      ended: true,
    };
    out.add({ type: "model-call", ...call, ...(costUsd === null ? {} : { costUsd }) });
    if (asText(step.reason) === "stop")
      out.add(turnEnded(thread, "completed", "its stream reports that its last response is complete"));
  }
}

/** Part types, by the lines that carry them. */
const PART_TYPES: Readonly<Record<string, string>> = {
  tool_use: "tool",
  text: "text",
  reasoning: "reasoning",
  step_start: "step-start",
  step_finish: "step-finish",
};

/** Programs that forward a stream may omit ids, types and times of parts; the line has the type and time as well. */
function partIn(line: JsonObject): Part | null {
  const json = asObject(line.part);
  if (json === null) return null;
  const type = asNonBlank(json.type) ?? PART_TYPES[asText(line.type) ?? ""];
  const part = partOf({
    ...json,
    type,
    id: asNonBlank(json.id) ?? asNonBlank(json.callID) ?? `line ${hash(jsonText(line) ?? "")}`,
  });
  const at = asTime(line.timestamp);
  return part === null || part.start !== null ? part : { ...part, start: at, end: at };
}

/** Whether a product of the family printed a line: they all print the same. */
export function isPrinted(line: JsonObject): boolean | null {
  const isLine = Object.hasOwn(PART_TYPES, asText(line.type) ?? "")
    ? asObject(line.part) !== null
    : line.type === "error" && asObject(line.error) !== null;
  return isLine && isSessionId(asText(line.sessionID) ?? "") ? true : null;
}

function errorIn(line: JsonObject): string {
  const error = asObject(line.error);
  return (
    asNonBlank(asObject(error?.data)?.message) ?? asNonBlank(error?.message) ?? asNonBlank(error?.name) ?? "an error"
  );
}
