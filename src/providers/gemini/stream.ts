import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { wrapStream } from "../kit/gemini-cli.ts";
import { AT_WORK, type LiveReader, turnEnded } from "../kit/live-stream.ts";
import * as key from "./keys.ts";
import { SPAWN_TOOL } from "./message.ts";

const NAMES = new Set(["gemini", "@google/gemini-cli"]);

/** `gemini --output-format stream-json`. */
export const wrap = (argv: readonly string[]) => wrapStream(NAMES, argv);

/** Whether Gemini CLI printed a line: the first one names the session and the model. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.type === "init" && asNonBlank(line.session_id) !== null && asNonBlank(line.model) !== null ? true : null;

/** Reads `--output-format stream-json`: messages without ids, calls with ids. */
export class GeminiStream implements LiveReader {
  #session: string | null;
  readonly #spawns: Set<string>;

  constructor(saved?: unknown) {
    const memory = saved as { readonly session: string | null; readonly spawns: readonly string[] } | undefined;
    this.#session = memory?.session ?? null;
    this.#spawns = new Set(memory?.spawns);
  }

  save = () => ({ session: this.#session, spawns: [...this.#spawns] });

  threadIn(line: JsonObject): AgentKey | null {
    const id = asNonBlank(line.session_id);
    return id === null ? null : key.thread(id);
  }

  timeIn = (line: JsonObject) => asTime(line.timestamp);
  events = () => [];

  read(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    this.#session = asNonBlank(line.session_id) ?? this.#session;
    const session = this.#session ?? "";
    const id = asNonBlank(line.tool_id);
    if (line.type === "init") out.add(AT_WORK);
    const prompt = line.type === "message" && line.role === "user" ? asNonBlank(line.content) : null;
    if (prompt !== null) out.add({ type: "agent-described", agent: thread, prompt });
    if (line.type === "tool_use" && line.tool_name === SPAWN_TOOL && id !== null)
      this.#spawnCalled(out, line, session, id);
    if (line.type === "tool_result" && id !== null && this.#spawns.has(id)) {
      const state = line.status === "error" ? "errored" : "completed";
      const of = { call: key.call(session, id) };
      // Without a time, so that better evidence wins: failed children are also reported as success.
      out.addAt(null, {
        type: "lifecycle",
        of,
        state,
        source: "inferred",
        says: `its call returned: ${asText(line.status)}`,
        result: null,
        yields: true,
      });
    }
    if (line.type === "result") {
      const isError = line.status !== "success";
      const why = isError ? `: ${asNonBlank(asObject(line.error)?.message) ?? asText(line.status)}` : "";
      out.add(
        turnEnded(thread, isError ? "errored" : "completed", `its stream ends with ${asText(line.status)}${why}`),
      );
    }
  }

  #spawnCalled(out: FindingsOf, line: JsonObject, session: string, id: string) {
    this.#spawns.add(id);
    const args = asObject(line.parameters);
    const prompt = asNonBlank(args?.prompt);
    const offers = [...(prompt === null ? [] : [key.promptMatch(session, prompt)]), key.orderMatch(session)];
    const asked = { prompt, agentType: asNonBlank(args?.agent_name), description: null, name: null, offers };
    out.add({ type: "spawn-called", call: key.call(session, id), tool: SPAWN_TOOL, makes: "one", ...asked });
  }
}
