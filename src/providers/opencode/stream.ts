import { commandOf, optionIn } from "../../core/command.ts";
import type { EventDraft } from "../../core/event.ts";
import type { FindingsOf } from "../../core/findings.ts";
import type { AgentKey } from "../../core/ids.ts";
import { asNumber, asObject, asText, asTime, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, type LiveReader, speakingOnly, turnEnded } from "../../core/live-stream.ts";
import type { Wrapping } from "../../core/provider.ts";
import { eventsOfPart } from "./events.ts";
import * as key from "./keys.ts";
import { partKey, readLonePart } from "./message.ts";
import { partOf } from "./shapes.ts";
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

  read(out: FindingsOf, said: JsonObject, thread: AgentKey) {
    if (!this.#isBegun) out.add(AT_WORK);
    this.#isBegun = true;
    if (said.type === "error") out.add(turnEnded(thread, "errored", `its stream says ${errorIn(said)}`));
    const part = partOf(said.part);
    const [session, message] = [asWords(said.sessionID), asWords(part?.json.messageID)];
    if (part === null || session === null || message === null) return;
    if (part.type === "step-finish") return this.#readStep(out, part.json, message, thread);
    readLonePart(out.part({ keys: [partKey(part)] }), part, session);
  }

  events(said: JsonObject, thread: AgentKey, at: number): readonly EventDraft[] {
    if (said.type === "error") return [{ speaker: thread, keys: [], at, kind: "error", text: errorIn(said), tool: null, response: null }];
    const part = partOf(said.part);
    const session = asWords(said.sessionID);
    return part === null || session === null ? [] : eventsOfPart(part, session, key.record(`${asText(part.json.messageID)} 0`));
  }

  #readStep(out: FindingsOf, step: JsonObject, message: string, thread: AgentKey) {
    const number = this.#steps.get(message) ?? 0;
    this.#steps.set(message, number + 1);
    const costUsd = asNumber(step.cost) || null;
    const call = { response: key.record(`${message} ${number}`), model: "", tokens: tokensOf(step.tokens), chars: 0, ended: true };
    out.add({ type: "model-call", ...call, ...(costUsd === null ? {} : { costUsd }) });
    if (asText(step.reason) === "stop") out.add(turnEnded(thread, "completed", "its stream says that its last answer is finished"));
  }
}

function errorIn(said: JsonObject): string {
  const error = asObject(said.error);
  return asWords(asObject(error?.data)?.message) ?? asWords(error?.message) ?? asWords(error?.name) ?? "an error";
}
