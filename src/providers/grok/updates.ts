import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import type { RecordState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, isTooDeep, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { commandIn, ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import { firstLine } from "../kit/text.ts";
import { type RecordHead, TranscriptFile } from "../kit/transcript-file.ts";
import * as key from "./keys.ts";
import { isNotice, readEnd, readSpawn, readSpawned, readSpawnResult, SPAWN } from "./spawns.ts";

const RECORD_START = /\{"timestamp":/g;
const SHELL = "run_terminal_command";

interface Memory {
  readonly isIntroduced: boolean;
  readonly response: string;
  readonly spawns: readonly string[];
  readonly shells: ShellMemory;
}

/** `updates.jsonl`: the messages and tool calls of a session, with their times. */
export class Updates extends TranscriptFile {
  readonly #session: string;
  /** The text of the current response. */
  #response: string;
  /** Calls that spawn an agent and have no result yet. */
  readonly #spawns: Set<string>;
  readonly #shells: ShellCalls;

  constructor(session: string, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    super(key.session(session), file, RECORD_START, memory?.isIntroduced);
    this.#session = session;
    this.#response = memory?.response ?? "";
    this.#spawns = new Set(memory?.spawns);
    this.#shells = new ShellCalls(memory?.shells);
  }

  save(): Memory {
    return {
      isIntroduced: this.isIntroduced,
      response: this.#response,
      spawns: [...this.#spawns],
      shells: this.#shells.save(),
    };
  }

  protected headOf(json: JsonObject | null, line: number): RecordHead {
    const meta = asObject(asObject(json?.params)?._meta);
    const at = asTime(meta?.agentTimestampMs);
    return { at, keys: [key.record(asNonBlank(meta?.eventId) ?? `${this.#session} line ${line}`, at)] };
  }

  protected read(out: FindingsOf, json: JsonObject): readonly EventDraft[] {
    const params = asObject(json.params);
    const [update, meta] = [asObject(params?.update), asObject(params?._meta)];
    if (update === null) {
      // A damaged line is reported once.
      if (out.problems.length === 0) out.problem("record-malformed", "a record without an update");
      return [];
    }
    this.introduce(out);
    const { keys, at } = out.place;
    const base = { speaker: this.agent, keys, at, tool: null, response: null };
    return this.#read(out, update, asNonBlank(meta?.promptId), base);
  }

  #read(out: FindingsOf, update: JsonObject, promptId: string | null, base: Base): readonly EventDraft[] {
    const text = textOf(update.content);
    switch (update.sessionUpdate) {
      case "user_message_chunk":
        return this.#readPrompt(out, text, base);
      case "agent_message_chunk":
        this.#response += text;
        out.add({ ...RECORD, role: "assistant", state: "open", message: true });
        return text.trim() === "" ? [] : [{ ...base, kind: "assistant", text }];
      case "agent_thought_chunk":
        return text.trim() === "" ? [] : [{ ...base, kind: "reasoning", text }];
      case "tool_call":
        return this.#readCall(out, update, promptId, base);
      case "tool_call_update":
        return this.#readResult(out, update, text, base);
      case "plan":
        statePlan(out, { todos: asList(update.entries) });
        return [];
      case "subagent_spawned":
        readSpawned(out, update);
        return [];
      case "subagent_finished": {
        const child = asNonBlank(update.child_session_id) ?? asNonBlank(update.subagent_id);
        if (child !== null) readEnd(out, key.session(child), update, base.at, "the record of its root");
        return [];
      }
      case "turn_completed":
        return this.#readTurnEnd(out, update, base);
      default:
        // Hooks, retries, background tasks, modes, commands.
        return [];
    }
  }

  #readPrompt(out: FindingsOf, text: string, base: Base): readonly EventDraft[] {
    // A process that runs one prompt ends without a response to a notice (1.0.41), so it begins no turn.
    if (isNotice(text)) {
      out.add({ ...RECORD, role: "user" });
      return [{ ...base, kind: "note", text }];
    }
    this.#response = "";
    // All prompts are stated, because the first may be copied from the original of a fork.
    if (text.trim() !== "") out.add({ type: "agent-described", agent: this.agent, prompt: text });
    out.add({ ...RECORD, role: "user", state: "open", turn: "its turn has begun", message: true });
    return text.trim() === "" ? [] : [{ ...base, kind: "user", text }];
  }

  #readCall(out: FindingsOf, update: JsonObject, promptId: string | null, base: Base): readonly EventDraft[] {
    const id = asNonBlank(update.toolCallId);
    const name = asNonBlank(asObject(asObject(update._meta)?.["x.ai/tool"])?.name) ?? asNonBlank(update.title);
    if (id === null || name === null) return [];
    const [call, input] = [key.call(this.#session, id), asObject(update.rawInput) ?? {}];
    this.#response = "";
    out.add({ ...RECORD, role: "assistant", state: "open", calls: [{ call, name, ...waitsFor(name) }], message: true });
    if (name === SPAWN) {
      this.#spawns.add(id);
      readSpawn(out, this.#session, id, input, promptId);
    }
    if (name === SHELL) {
      const isBackground = input.background === true || input.is_background === true;
      this.#shells.called(out, call, commandIn(input, "command"), cwdIn(this.file.path), base.at, isBackground);
    }
    const tool = { name, call, input: isTooDeep(input) ? null : input, isError: false };
    return [{ ...base, kind: "toolCall", text: null, tool }];
  }

  /** The first update of a call repeats its input; one with a status has the result. */
  #readResult(out: FindingsOf, update: JsonObject, text: string, base: Base): readonly EventDraft[] {
    const [id, status] = [asNonBlank(update.toolCallId), asText(update.status)];
    if (id === null || (status !== "completed" && status !== "failed")) return [];
    const [call, isError] = [key.call(this.#session, id), status === "failed"];
    const output = asObject(update.rawOutput) ?? {};
    const result = text !== "" ? text : (asText(output.text) ?? asText(output.output) ?? asText(output.message) ?? "");
    out.add({ ...RECORD, role: "user", state: "open", results: [{ call, isError }] });
    if (this.#spawns.delete(id)) readSpawnResult(out, this.#session, id, output, result);
    this.#shells.returned(out, call, { text: result, at: base.at });
    return [{ ...base, kind: "toolResult", text: result, tool: { name: null, call, input: null, isError } }];
  }

  #readTurnEnd(out: FindingsOf, update: JsonObject, base: Base): readonly EventDraft[] {
    const reason = asText(update.stop_reason) ?? "end_turn";
    const state: RecordState =
      reason === "error" ? "failed" : /cancel|interrupt|abort/.test(reason) ? "interrupted" : "answered";
    const error = state === "answered" ? null : asNonBlank(update.agent_result);
    const turn = `its turn ended: ${reason}${error === null ? "" : `: ${firstLine(error)}`}`;
    const text = state === "answered" && this.#response.trim() !== "" ? this.#response : null;
    out.add({ ...RECORD, state, turn, text, ...(error === null ? {} : { error: firstLine(error) }) });
    this.#response = "";
    return error === null ? [] : [{ ...base, kind: "error", text: error }];
  }
}

interface Base {
  readonly speaker: AgentKey;
  readonly keys: readonly RecordKey[];
  readonly at: number | null;
  readonly tool: null;
  readonly response: null;
}

/** `sessions/<encoded folder>/<session>/updates.jsonl`; null for the short form of a long path. */
function cwdIn(path: string): string | null {
  const folder = path.split(/[\\/]/).at(-3) ?? "";
  try {
    const cwd = decodeURIComponent(folder);
    return cwd.startsWith("/") ? cwd : null;
  } catch {
    // Not an encoded path.
    return null;
  }
}

const waitsFor = (tool: string) => (tool === "ask_user_question" ? { waitsFor: "answer" } : {});

/** A text block, or a list of blocks, each of which may contain one. */
function textOf(content: unknown): string {
  if (Array.isArray(content)) return content.map(textOf).join("\n");
  const block = asObject(content);
  return asText(block?.text) ?? asText(asObject(block?.content)?.text) ?? "";
}
