import { commandOf, optionIn } from "../../core/command.ts";
import type { FindingsOf } from "../../core/findings.ts";
import type { AgentKey } from "../../core/ids.ts";
import { asObject, asText, asTime, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, type LiveReader, speakingOnly, turnEnded } from "../../core/live-stream.ts";
import type { Wrapping } from "../../core/provider.ts";
import * as key from "./keys.ts";
import { SPAWN_TOOL } from "./message.ts";

const NAMES = new Set(["gemini", "@google/gemini-cli"]);
const FORMAT = ["--output-format", "-o"] as const;

/** `gemini --output-format stream-json`. */
export function wrap(words: readonly string[]): Wrapping | null {
  const command = commandOf(words);
  if (command === null || !NAMES.has(command.name)) return null;
  const format = optionIn(command.args, ...FORMAT);
  const speaks = format === "stream-json";
  return speakingOnly(speaks, speaks ? words : format === null ? [...words, FORMAT[0], "stream-json"] : null);
}

/** Whether Gemini CLI printed a line: the first one names the session and the model. */
export const isPrinted = (said: JsonObject): boolean | null =>
  said.type === "init" && asWords(said.session_id) !== null && asWords(said.model) !== null ? true : null;

/** What `--output-format stream-json` prints: messages without ids, and calls with theirs. */
export class GeminiStream implements LiveReader {
  #session: string | null;
  readonly #spawns: Set<string>;

  constructor(saved?: unknown) {
    const memory = saved as { readonly session: string | null; readonly spawns: readonly string[] } | undefined;
    this.#session = memory?.session ?? null;
    this.#spawns = new Set(memory?.spawns);
  }

  save = () => ({ session: this.#session, spawns: [...this.#spawns] });

  threadIn(said: JsonObject): AgentKey | null {
    const id = asWords(said.session_id);
    return id === null ? null : key.thread(id);
  }

  timeIn = (said: JsonObject) => asTime(said.timestamp);
  events = () => [];

  read(out: FindingsOf, said: JsonObject, thread: AgentKey) {
    this.#session = asWords(said.session_id) ?? this.#session;
    const session = this.#session ?? "";
    const id = asWords(said.tool_id);
    if (said.type === "init") out.add(AT_WORK);
    const prompt = said.type === "message" && said.role === "user" ? asWords(said.content) : null;
    if (prompt !== null) out.add({ type: "agent-described", agent: thread, prompt });
    if (said.type === "tool_use" && said.tool_name === SPAWN_TOOL && id !== null) this.#ask(out, said, session, id);
    if (said.type === "tool_result" && id !== null && this.#spawns.has(id)) {
      const state = said.status === "error" ? "errored" : "completed";
      const of = { call: key.call(session, id) };
      // Without a time, so that whoever knows more has the last word: children that failed are called a success, too.
      out.addAt(null, { type: "lifecycle", of, state, source: "inferred", says: `its call returned: ${asText(said.status)}`, result: null, yields: true });
    }
    if (said.type === "result") {
      const isError = said.status !== "success";
      const why = isError ? `: ${asWords(asObject(said.error)?.message) ?? asText(said.status)}` : "";
      out.add(turnEnded(thread, isError ? "errored" : "completed", `its stream ends with ${asText(said.status)}${why}`));
    }
  }

  #ask(out: FindingsOf, said: JsonObject, session: string, id: string) {
    this.#spawns.add(id);
    const args = asObject(said.parameters);
    const prompt = asWords(args?.prompt);
    const offers = [...(prompt === null ? [] : [key.promptMatch(session, prompt)]), key.orderMatch(session)];
    const asked = { prompt, agentType: asWords(args?.agent_name), description: null, name: null, offers };
    out.add({ type: "spawn-called", call: key.call(session, id), tool: SPAWN_TOOL, makes: "one", ...asked });
  }
}
