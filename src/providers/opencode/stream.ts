import { commandOf, optionIn } from "../../core/command.ts";
import type { EventDraft } from "../../core/event.ts";
import type { FindingsOf } from "../../core/findings.ts";
import { hash } from "../../core/hash.ts";
import { type AgentKey, partsOf } from "../../core/ids.ts";
import { asAmount, asObject, asText, asTime, asWords, type JsonObject, jsonText } from "../../core/json.ts";
import { AT_WORK, type LiveReader, speakingOnly, turnEnded } from "../../core/live-stream.ts";
import type { Wrapping } from "../../core/provider.ts";
import { eventsOfPart } from "./events.ts";
import * as key from "./keys.ts";
import { partKey, readLonePart } from "./message.ts";
import { type Part, partOf } from "./shapes.ts";
import { tokensOf } from "./tokens.ts";

const NAMES = new Set(["opencode", "opencode-ai"]);

/** `opencode run --format json`. */
export function wrap(words: readonly string[]): Wrapping | null {
  const command = commandOf(words);
  if (command === null || !NAMES.has(command.name)) return null;
  const at = words.indexOf("run");
  const format = optionIn(command.args, "--format");
  const speaks = at >= 0 && format === "json";
  return speakingOnly(speaks, speaks ? words : at < 0 || format !== null ? null : words.toSpliced(at + 1, 0, "--format", "json"));
}

/** What `opencode run --format json` prints: finished parts of the root session, as the database keeps them; of agents below only the calls that made them. */
export class OpencodeStream implements LiveReader {
  /** Answers counted so far, by message: each step of one is an answer of its own. */
  readonly #steps: Map<string, number>;
  #isBegun: boolean;

  constructor(saved?: unknown) {
    const memory = saved as { readonly steps: readonly (readonly [string, number])[]; readonly isBegun: boolean } | undefined;
    this.#steps = new Map(memory?.steps);
    this.#isBegun = memory?.isBegun ?? false;
  }

  save = () => ({ steps: [...this.#steps], isBegun: this.#isBegun });

  threadIn(said: JsonObject): AgentKey | null {
    const id = asWords(said.sessionID);
    return id === null ? null : key.session(id);
  }

  timeIn = (said: JsonObject) => asTime(said.timestamp);

  read(out: FindingsOf, said: JsonObject, thread: AgentKey, at: number | null) {
    if (!this.#isBegun) out.add(AT_WORK);
    this.#isBegun = true;
    if (said.type === "error") out.add(turnEnded(thread, "errored", `its stream says ${errorIn(said)}`));
    const part = partIn(said);
    if (part === null) return;
    const session = partsOf(thread).thread;
    // Without the message's id, the time tells steps apart.
    if (part.type === "step-finish") return this.#readStep(out, part.json, asWords(part.json.messageID) ?? `${session} ${at}`, thread);
    readLonePart(out.part({ keys: [partKey(part)] }), part, session, "model");
  }

  events(said: JsonObject, thread: AgentKey, at: number | null): readonly EventDraft[] {
    if (said.type === "error") return [{ speaker: thread, keys: [], at, kind: "error", text: errorIn(said), tool: null, response: null }];
    const part = partIn(said);
    const session = partsOf(thread).thread;
    return part === null ? [] : eventsOfPart(part, session, key.record(`${asText(part.json.messageID)} 0`), "model");
  }

  #readStep(out: FindingsOf, step: JsonObject, message: string, thread: AgentKey) {
    const number = this.#steps.get(message) ?? 0;
    this.#steps.set(message, number + 1);
    const costUsd = asAmount(step.cost) || null;
    const call = { response: key.record(`${message} ${number}`), model: "", tokens: tokensOf(step.tokens), chars: 0, ended: true };
    out.add({ type: "model-call", ...call, ...(costUsd === null ? {} : { costUsd }) });
    if (asText(step.reason) === "stop") out.add(turnEnded(thread, "completed", "its stream says that its last answer is finished"));
  }
}

/** What parts are called, by the lines that carry them. */
const PART_TYPES: Readonly<Record<string, string>> = {
  tool_use: "tool",
  text: "text",
  reasoning: "reasoning",
  step_start: "step-start",
  step_finish: "step-finish",
};

/** Tools that pass a stream on may leave out the ids, types and times of parts: the line around a part tells its type and its time. */
function partIn(said: JsonObject): Part | null {
  const json = asObject(said.part);
  if (json === null) return null;
  const type = asWords(json.type) ?? PART_TYPES[asText(said.type) ?? ""];
  const part = partOf({ ...json, type, id: asWords(json.id) ?? asWords(json.callID) ?? `line ${hash(jsonText(said) ?? "")}` });
  const at = asTime(said.timestamp);
  return part === null || part.start !== null ? part : { ...part, start: at, end: at };
}

/** Whether OpenCode printed a line. */
export function isPrinted(said: JsonObject): boolean | null {
  const isLine = Object.hasOwn(PART_TYPES, asText(said.type) ?? "") ? asObject(said.part) !== null : said.type === "error" && asObject(said.error) !== null;
  return isLine && key.isSessionId(asText(said.sessionID) ?? "") ? true : null;
}

function errorIn(said: JsonObject): string {
  const error = asObject(said.error);
  return asWords(asObject(error?.data)?.message) ?? asWords(error?.message) ?? asWords(error?.name) ?? "an error";
}
