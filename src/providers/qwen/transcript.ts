import type { ModelCalled } from "../../core/facts/observation.ts";
import { fingerprintsOf } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { ConversationFile } from "../kit/conversation-file.ts";
import { callsIn, responsesIn, textIn, thoughtsIn } from "../kit/gemini-parts.ts";
import { commandIn } from "../kit/launch/shell-calls.ts";
import type { ToolUse } from "../kit/message-blocks.ts";
import type { MessageResult, ShellUse, Tools } from "../kit/messages.ts";
import { RECORD } from "../kit/record.ts";
import type { RecordEvents, RecordHead } from "../kit/transcript-file.ts";
import * as key from "./keys.ts";
import type { QwenFile } from "./locate.ts";
import { isSpawn, readNotices, readSpawn, readSpawnResult } from "./spawns.ts";
import { ownResponseIn, readTelemetry } from "./telemetry.ts";
import { tokensOf } from "./tokens.ts";

const RECORD_START = /\{"uuid":/g;
const SHELL = "run_shell_command";

interface State {
  isPrompted: boolean;
  forkedFrom: string | null;
  /** The API's id of the response that was received last. */
  apiId: string | null;
  /** The beginning of the thread was stated. */
  isBegun: boolean;
}

interface Result extends MessageResult {
  /** What the product records of the call besides the text for the model. */
  readonly outcome: JsonObject | null;
}

const toolsOf = (session: string): Tools<Result> => ({
  key: (id) => key.call(session, id),
  spawn(out, { id, name, input }) {
    if (!isSpawn(name, input)) return false;
    readSpawn(out, session, id, name, input);
    return true;
  },
  spawned: (out, { id, text, outcome }) => readSpawnResult(out, session, id, text, outcome),
});

/** A session (`chats/<session>.jsonl`) or one of its agents (`subagents/<session>/agent-<id>.jsonl`). */
export class Transcript extends ConversationFile<State, Result> {
  readonly #of: Exclude<QwenFile, { is: "meta" }>;

  constructor(of: Exclude<QwenFile, { is: "meta" }>, file: SourceFile, saved?: unknown) {
    const agent = of.is === "agent" ? key.agent(of.session, of.agent) : key.thread(of.session);
    const initial = { isPrompted: false, forkedFrom: null, apiId: null, isBegun: false };
    super(agent, file, RECORD_START, toolsOf(of.session), initial, saved);
    this.#of = of;
  }

  protected headOf(json: JsonObject | null): RecordHead {
    const uuid = asNonBlank(json?.uuid);
    return { at: asTime(json?.timestamp), keys: uuid === null ? [] : [key.record(uuid)] };
  }

  protected read(out: FindingsOf, json: JsonObject, line: number): RecordEvents {
    if (asNonBlank(json.type) === null) out.problem("record-malformed", "a record without a type");
    this.#introduce(out, json);
    const copied = asObject(json.forkedFrom);
    if (copied !== null) {
      this.#fork(out, asNonBlank(copied.sessionId));
      return [];
    }
    this.#begin(out, json);
    return this.#read(out, json, line);
  }

  #begin(out: FindingsOf, json: JsonObject) {
    const cwd = asNonBlank(json.cwd);
    if (this.state.isBegun || this.#of.is === "agent" || cwd === null) return;
    this.state.isBegun = true;
    out.add({ type: "thread-began", thread: this.agent, cwd });
  }

  /** Marked copies of another session's records, at the beginning of a forked one. */
  #fork(out: FindingsOf, source: string | null) {
    if (source === null || this.state.forkedFrom !== null) return;
    this.state.forkedFrom = source;
    out.addOfFile({ type: "agent-described", agent: this.agent, forkedFrom: key.thread(source) });
  }

  #introduce(out: FindingsOf, json: JsonObject) {
    if (this.isIntroduced) return;
    const [cwd, version] = [asNonBlank(json.cwd), asNonBlank(json.version)];
    const known = {
      ...(cwd === null ? {} : { cwd }),
      ...(version === null ? {} : { productVersion: version }),
    };
    this.introduce(out, known);
    if (this.#of.is === "session") return;
    const name = asNonBlank(json.agentName);
    if (name !== null) out.addOfFile({ type: "agent-described", agent: this.agent, agentType: name });
    // A fallback: the agent's meta file names the direct parent.
    out.addOfFile({
      type: "parent-named",
      child: this.agent,
      parent: key.thread(this.#of.session),
      rule: "subagents/<session>",
      source: "child_rollout",
      confidence: 0.5,
      says: `its file lies in the folder of session ${this.#of.session}`,
    });
  }

  #read(out: FindingsOf, json: JsonObject, line: number): RecordEvents {
    switch (json.type) {
      case "user":
        return this.#readUser(out, json);
      case "assistant":
        return this.#readAssistant(out, json, line);
      case "tool_result":
        return this.#readResult(out, json);
      case "system":
        return this.#readSystem(out, json);
      default:
        if (asNonBlank(json.type) !== null) out.problem("record-unknown", `a record of type ${asText(json.type)}`);
        return [];
    }
  }

  #readUser(out: FindingsOf, json: JsonObject) {
    const text = textIn(asObject(json.message)?.parts);
    const isNotice = json.subtype === "notification";
    if (isNotice) readNotices(out, this.#of.session, text);
    const isMessage = !isNotice && text.trim() !== "";
    if (isMessage && !this.state.isPrompted) {
      this.state.isPrompted = true;
      out.add({ type: "agent-described", agent: this.agent, prompt: text });
    }
    const shown = { kind: isNotice ? "note" : "user", text } as const;
    return this.message(out, { role: "user", state: "open", isMessage, text, shown });
  }

  #readAssistant(out: FindingsOf, json: JsonObject, line: number) {
    const parts = asObject(json.message)?.parts;
    const [text, calls, usage] = [textIn(parts), callsIn(parts), this.#usageIn(json, line)];
    const isText = text.trim() !== "";
    return this.message(out, {
      role: "assistant",
      // A record of an agent may be continued by another one with the calls of the same response.
      state: calls.length === 0 && isText ? "answered" : "open",
      certain: this.#of.is === "session",
      isMessage: isText || calls.length > 0,
      text,
      thoughts: thoughtsIn(parts).filter((thought) => thought.trim() !== ""),
      calls: calls.map((call) => ({ ...call, shell: shellIn(call, json) })),
      facts: usage === null ? [] : [usage],
      response: usage?.response ?? null,
    });
  }

  /** Null if the record has no usage. */
  #usageIn(json: JsonObject, line: number): ModelCalled | null {
    const { session } = this.#of;
    const usage = asObject(json.usageMetadata);
    if (usage === null) return null;
    const tokens = tokensOf(
      usage.promptTokenCount,
      usage.candidatesTokenCount,
      usage.cachedContentTokenCount,
      usage.thoughtsTokenCount,
    );
    const response =
      this.#of.is === "agent"
        ? key.response(session, this.#of.agent, tokens)
        : key.record(asNonBlank(json.uuid) ?? `${session} ${line}`);
    const fingerprints = fingerprintsOf({ id: this.state.apiId, tokens, content: null });
    this.state.apiId = null;
    const model = asText(json.model) ?? "";
    return { type: "model-call", response, ...fingerprints, model, tokens, chars: 0, ended: true };
  }

  #readResult(out: FindingsOf, json: JsonObject) {
    const outcome = asObject(json.toolCallResult);
    const isError = outcome?.status === "error";
    const results = responsesIn(asObject(json.message)?.parts).map((one) => ({
      ...one,
      isError: one.isError || isError,
      outcome,
    }));
    return this.message(out, { role: "user", state: "open", isMessage: false, text: "", results });
  }

  #readSystem(out: FindingsOf, json: JsonObject): readonly EventDraft[] {
    const payload = asObject(json.systemPayload);
    switch (json.subtype) {
      case "ui_telemetry": {
        const event = asObject(payload?.uiEvent) ?? {};
        this.state.apiId = ownResponseIn(event) ?? this.state.apiId;
        const error = readTelemetry(out, event, this.#of.session);
        // The failure of an agent is in its meta file.
        if (error === null || this.#of.is === "agent") return [];
        out.add({ ...RECORD, role: "other", state: "failed", error });
        return [this.event(out, "error", error)];
      }
      case "custom_title": {
        const title = asNonBlank(payload?.customTitle);
        const rank = payload?.titleSource === "manual" ? 0 : 1;
        if (title !== null) out.addOfFile({ type: "thread-titled", of: this.agent, title, rank });
        return [];
      }
      case "agent_bootstrap":
        if (payload?.kind === "fork") out.addOfFile({ type: "agent-described", agent: this.agent, kind: "fork" });
        return [];
      case "agent_launch_prompt": {
        const prompt = asNonBlank(payload?.displayText) ?? asNonBlank(payload?.prompt);
        if (prompt !== null) out.add({ type: "agent-described", agent: this.agent, prompt });
        return [];
      }
      case "chat_compression":
        return [this.event(out, "compaction", "The conversation was compressed.")];
      case "rewind":
        out.add({ ...RECORD, role: "other", state: "answered", certain: false });
        return [this.event(out, "note", "The conversation was rewound to an earlier message.")];
      default:
        // Snapshots, sources, settings: no agent, no usage.
        return [];
    }
  }
}

function shellIn({ name, input }: ToolUse, json: JsonObject): ShellUse | null {
  if (name !== SHELL) return null;
  return {
    command: commandIn(input, "command"),
    cwd: asNonBlank(input.directory) ?? asNonBlank(json.cwd),
    isBackground: input.is_background === true,
  };
}
