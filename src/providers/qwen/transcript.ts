import type { RecordKey } from "../../core/facts/ids.ts";
import { fingerprintsOf } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, isTooDeep, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { callsIn, type FunctionCall, responsesIn, textIn, thoughtsIn } from "../kit/gemini-parts.ts";
import { commandIn, ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import { type RecordHead, TranscriptFile } from "../kit/transcript-file.ts";
import * as key from "./keys.ts";
import type { QwenFile } from "./locate.ts";
import { isSpawn, readNotices, readSpawn, readSpawnResult } from "./spawns.ts";
import { ownResponseIn, readTelemetry } from "./telemetry.ts";
import { tokensOf } from "./tokens.ts";

const RECORD_START = /\{"uuid":/g;
const SHELL = "run_shell_command";

interface Memory {
  readonly isIntroduced: boolean;
  readonly isPrompted: boolean;
  readonly spawns: readonly string[];
  readonly forkedFrom: string | null;
  readonly apiId: string | null;
  readonly isBegun: boolean;
  readonly shells: ShellMemory;
}

/** A session (`chats/<session>.jsonl`) or one of its agents (`subagents/<session>/agent-<id>.jsonl`). */
export class Transcript extends TranscriptFile {
  readonly #of: Exclude<QwenFile, { is: "meta" }>;
  #isPrompted: boolean;
  /** Spawn calls without a result. */
  readonly #spawns: Set<string>;
  #forkedFrom: string | null;
  /** The API's id of the response that was received last. */
  #apiId: string | null;
  /** The beginning of the thread was stated. */
  #isBegun: boolean;
  readonly #shells: ShellCalls;

  constructor(of: Exclude<QwenFile, { is: "meta" }>, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    const agent = of.is === "agent" ? key.agent(of.session, of.agent) : key.thread(of.session);
    super(agent, file, RECORD_START, memory?.isIntroduced);
    this.#of = of;
    this.#isPrompted = memory?.isPrompted ?? false;
    this.#spawns = new Set(memory?.spawns);
    this.#forkedFrom = memory?.forkedFrom ?? null;
    this.#apiId = memory?.apiId ?? null;
    this.#isBegun = memory?.isBegun ?? false;
    this.#shells = new ShellCalls(memory?.shells);
  }

  save(): Memory {
    return {
      isIntroduced: this.isIntroduced,
      isPrompted: this.#isPrompted,
      spawns: [...this.#spawns],
      forkedFrom: this.#forkedFrom,
      apiId: this.#apiId,
      isBegun: this.#isBegun,
      shells: this.#shells.save(),
    };
  }

  protected headOf(json: JsonObject | null): RecordHead {
    const uuid = asNonBlank(json?.uuid);
    return { at: asTime(json?.timestamp), keys: uuid === null ? [] : [key.record(uuid)] };
  }

  protected read(out: FindingsOf, json: JsonObject, line: number): readonly EventDraft[] {
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
    if (this.#isBegun || this.#of.is === "agent" || cwd === null) return;
    this.#isBegun = true;
    out.add({ type: "thread-began", thread: this.agent, cwd });
  }

  /** Marked copies of another session's records, at the beginning of a forked one. */
  #fork(out: FindingsOf, source: string | null) {
    if (source === null || this.#forkedFrom !== null) return;
    this.#forkedFrom = source;
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

  #read(out: FindingsOf, json: JsonObject, line: number): readonly EventDraft[] {
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
    if (!isNotice && !this.#isPrompted && text.trim() !== "") {
      this.#isPrompted = true;
      out.add({ type: "agent-described", agent: this.agent, prompt: text });
    }
    out.add({ ...RECORD, role: "user", state: "open", message: !isNotice && text.trim() !== "" });
    return text.trim() === "" ? [] : [this.#draft(out, isNotice ? "note" : "user", text)];
  }

  #readAssistant(out: FindingsOf, json: JsonObject, line: number) {
    const { session } = this.#of;
    const parts = asObject(json.message)?.parts;
    const [text, calls] = [textIn(parts), callsIn(parts)];
    // A record of an agent may be continued by another one with the calls of the same response.
    const isFinal = calls.length === 0 && text.trim() !== "";
    out.add({
      ...RECORD,
      role: "assistant",
      state: isFinal ? "answered" : "open",
      certain: this.#of.is === "session",
      calls: calls.map(({ id, name }) => ({ call: key.call(session, id), name })),
      text: isFinal ? text : null,
      message: text.trim() !== "" || calls.length > 0,
    });
    const response = this.#readUsage(out, json, line);
    for (const call of calls) this.#readCall(out, json, call);
    const thoughts = thoughtsIn(parts).filter((thought) => thought.trim() !== "");
    return [
      ...thoughts.map((thought) => ({ ...this.#draft(out, "reasoning", thought), response })),
      ...(text.trim() === "" ? [] : [{ ...this.#draft(out, "assistant", text), response }]),
      ...calls.map(({ id, name, args }) => ({
        ...this.#draft(out, "toolCall", null),
        tool: { name, call: key.call(session, id), input: isTooDeep(args) ? null : args, isError: false },
        response,
      })),
    ];
  }

  /** Returns the key of the response; null if the record has no usage. */
  #readUsage(out: FindingsOf, json: JsonObject, line: number): RecordKey | null {
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
    const fingerprints = fingerprintsOf({ id: this.#apiId, tokens, content: null });
    this.#apiId = null;
    const model = asText(json.model) ?? "";
    out.add({ type: "model-call", response, ...fingerprints, model, tokens, chars: 0, ended: true });
    return response;
  }

  #readCall(out: FindingsOf, json: JsonObject, { id, name, args }: FunctionCall) {
    const { session } = this.#of;
    statePlan(out, args);
    if (name === SHELL) {
      const cwd = asNonBlank(args.directory) ?? asNonBlank(json.cwd);
      const isBackground = args.is_background === true;
      const command = commandIn(args, "command");
      this.#shells.called(out, key.call(session, id), command, cwd, out.place.at, isBackground);
    }
    if (!isSpawn(name, args)) return;
    this.#spawns.add(id);
    readSpawn(out, session, id, name, args);
  }

  #readResult(out: FindingsOf, json: JsonObject) {
    const { session } = this.#of;
    const outcome = asObject(json.toolCallResult);
    const status = asText(outcome?.status) ?? "";
    const results = responsesIn(asObject(json.message)?.parts).map((one) => ({
      ...one,
      isError: one.isError || status === "error",
    }));
    out.add({
      ...RECORD,
      role: "user",
      state: "open",
      results: results.map(({ id, isError }) => ({ call: key.call(session, id), isError })),
    });
    for (const { id, text } of results) {
      if (this.#spawns.delete(id)) readSpawnResult(out, session, id, text, outcome);
      this.#shells.returned(out, key.call(session, id), { text, at: out.place.at });
    }
    return results.map(({ id, text, isError }) => ({
      ...this.#draft(out, "toolResult", text),
      tool: { name: null, call: key.call(session, id), input: null, isError },
    }));
  }

  #readSystem(out: FindingsOf, json: JsonObject): readonly EventDraft[] {
    const payload = asObject(json.systemPayload);
    switch (json.subtype) {
      case "ui_telemetry": {
        const event = asObject(payload?.uiEvent) ?? {};
        this.#apiId = ownResponseIn(event) ?? this.#apiId;
        const error = readTelemetry(out, event, this.#of.session);
        // The failure of an agent is in its meta file.
        if (error === null || this.#of.is === "agent") return [];
        out.add({ ...RECORD, role: "other", state: "failed", error });
        return [this.#draft(out, "error", error)];
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
        return [this.#draft(out, "compaction", "The conversation was compressed.")];
      case "rewind":
        out.add({ ...RECORD, role: "other", state: "answered", certain: false });
        return [this.#draft(out, "note", "The conversation was rewound to an earlier message.")];
      default:
        // Snapshots, sources, settings: no agent, no usage.
        return [];
    }
  }

  #draft({ place: { keys, at } }: FindingsOf, kind: EventDraft["kind"], text: string | null): EventDraft {
    return { speaker: this.agent, keys, at, kind, text, tool: null, response: null };
  }
}
