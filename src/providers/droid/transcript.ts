import { recordIn } from "../../core/facts/ids.ts";
import { fingerprintsOf, NO_TOKENS } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, isTooDeep, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { commandIn, ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { blockText, type ToolUse, thoughtsIn, toolResultsIn, toolUsesIn } from "../kit/message-blocks.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import { firstLine } from "../kit/text.ts";
import { type RecordHead, TranscriptFile } from "../kit/transcript-file.ts";
import * as key from "./keys.ts";
import { readNotice, readTask, readTaskResult, resumedIn, stateOf, TASK, taskIn } from "./tasks.ts";

const RECORD_START = /\{"type":"/g;
const SHELL = "Execute";

interface Memory {
  readonly isIntroduced: boolean;
  readonly tasks: readonly string[];
  readonly lastAt: number | null;
  readonly error: string | null;
  readonly cwd: string | null;
  readonly isBegun: boolean;
  readonly shells: ShellMemory;
}

/** `<session>.jsonl`: a session, which may be a child of another one. */
export class Transcript extends TranscriptFile {
  readonly #session: string;
  /** Calls that spawn a child and have no result yet. */
  readonly #tasks: Set<string>;
  /** The time of the last record that has one; outcomes of turns have none. */
  #lastAt: number | null;
  /** The last error that was shown to the user. */
  #error: string | null;
  #cwd: string | null;
  /** The beginning of the thread was stated; true for children. */
  #isBegun: boolean;
  readonly #shells: ShellCalls;

  constructor(session: string, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    super(key.session(session), file, RECORD_START, memory?.isIntroduced);
    this.#session = session;
    this.#tasks = new Set(memory?.tasks);
    this.#lastAt = memory?.lastAt ?? null;
    this.#error = memory?.error ?? null;
    this.#cwd = memory?.cwd ?? null;
    this.#isBegun = memory?.isBegun ?? false;
    this.#shells = new ShellCalls(memory?.shells);
  }

  save(): Memory {
    return {
      isIntroduced: this.isIntroduced,
      tasks: [...this.#tasks],
      lastAt: this.#lastAt,
      error: this.#error,
      cwd: this.#cwd,
      isBegun: this.#isBegun,
      shells: this.#shells.save(),
    };
  }

  protected headOf(json: JsonObject | null): RecordHead {
    this.#lastAt = asTime(json?.timestamp) ?? this.#lastAt;
    const id = asNonBlank(json?.id);
    return { at: this.#lastAt, keys: json?.type === "message" && id !== null ? [key.record(id)] : [] };
  }

  protected read(out: FindingsOf, json: JsonObject): readonly EventDraft[] {
    this.introduce(out);
    switch (json.type) {
      case "session_start":
        this.#begin(out, json);
        return [];
      case "message":
        return this.#readMessage(out, json);
      case "agent_turn_outcome":
        this.#readOutcome(out, json);
        return [];
      case "compaction_state":
        return [{ ...this.#base(out), kind: "compaction", text: "The conversation was compacted." }];
      default:
        if (asNonBlank(json.type) === null) out.problem("record-malformed", "a record without a type");
        // To-do lists and other states of the display.
        return [];
    }
  }

  #begin(out: FindingsOf, json: JsonObject) {
    const [cwd, title] = [asNonBlank(json.cwd), asNonBlank(json.title)];
    // A forked session keeps the fields of the child that it was forked from, and has no spawn call.
    const isFork = asNonBlank(json.parent) !== null;
    const parent = isFork ? null : asNonBlank(json.callingSessionId);
    const call = asNonBlank(json.callingToolUseId);
    if (cwd !== null) out.addOfFile({ type: "agent-described", agent: this.agent, cwd });
    this.#cwd = cwd;
    this.#isBegun = parent !== null;
    if (parent === null) {
      if (title !== null)
        out.addOfFile({
          type: "thread-titled",
          of: this.agent,
          title,
          rank: json.isSessionTitleManuallySet === true ? 0 : 1,
        });
      return;
    }
    // A child has been given a task.
    out.addOfFile({ type: "agent-described", agent: this.agent, kind: "subagent", vouched: true });
    out.add({ ...RECORD, state: "open" });
    out.addOfFile({
      type: "parent-named",
      child: this.agent,
      parent: key.session(parent),
      rule: "session_start.callingSessionId",
      source: "protocol",
      confidence: 1,
      says: `its session names ${parent} as its parent`,
    });
    if (call !== null)
      out.addOfFile({
        type: "call-spawned",
        call: key.call(parent, call),
        child: this.agent,
        rule: "session_start.callingToolUseId",
        source: "protocol",
        says: `its session names call ${call}`,
      });
  }

  #readMessage(out: FindingsOf, json: JsonObject) {
    if (!this.#isBegun && this.#cwd !== null && out.place.at !== null) {
      this.#isBegun = true;
      out.add({ type: "thread-began", thread: this.agent, cwd: this.#cwd });
    }
    const message = asObject(json.message) ?? {};
    const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    const blocks = asList(content)
      .map(asObject)
      .filter((block) => block !== null);
    return message.role === "assistant"
      ? this.#readResponse(out, message, blocks)
      : this.#readUser(out, asText(json.id) ?? "", message, blocks);
  }

  #readUser(out: FindingsOf, id: string, message: JsonObject, blocks: readonly JsonObject[]): readonly EventDraft[] {
    const results = toolResultsIn(blocks).map((one) => ({ ...one, text: blockText(one.content) }));
    const text = blockText(blocks);
    // Reminders that precede the first prompt.
    const isContext = id.startsWith("context-");
    const isShown = message.visibility === "user_only";
    const isNotice = readNotice(out, text);
    const isPrompt = !isContext && !isShown && !isNotice && results.length === 0 && text.trim() !== "";
    out.add({
      ...RECORD,
      role: "user",
      state: isContext || isShown ? null : "open",
      results: results.map((one) => ({ call: key.call(this.#session, one.id), isError: one.isError })),
      message: isPrompt,
    });
    for (const one of results) {
      if (this.#tasks.delete(one.id)) readTaskResult(out, this.#session, one.id, one.text, one.isError);
      this.#shells.returned(out, key.call(this.#session, one.id), { text: one.text, at: out.place.at });
    }
    if (isShown) this.#error = asNonBlank(firstLine(text));
    const task = taskIn(text);
    // The first one of its own counts: a forked session begins with copies.
    if (isPrompt)
      out.add({
        type: "agent-described",
        agent: this.agent,
        prompt: task?.prompt ?? text,
        ...(task?.type == null ? {} : { agentType: task.type }),
        ...(task?.description == null ? {} : { description: task.description }),
      });
    const base = this.#base(out);
    const kind = isShown ? "error" : isPrompt ? "user" : "note";
    return [
      ...results.map((one) => ({
        ...base,
        kind: "toolResult" as const,
        text: one.text,
        tool: { name: null, call: key.call(this.#session, one.id), input: null, isError: one.isError },
      })),
      ...(text.trim() === "" || isContext ? [] : [{ ...base, kind, text: task?.prompt ?? text } as const]),
    ];
  }

  #readResponse(out: FindingsOf, message: JsonObject, blocks: readonly JsonObject[]): readonly EventDraft[] {
    const calls = toolUsesIn(blocks);
    const text = blockText(blocks);
    const isFinal = calls.length === 0 && text.trim() !== "";
    out.add({
      ...RECORD,
      role: "assistant",
      state: isFinal ? "answered" : "open",
      certain: false,
      calls: calls.map(({ id, name }) => ({ call: key.call(this.#session, id), name })),
      text: isFinal ? text : null,
      message: true,
    });
    this.#addModelCall(out, message, [text, ...calls.map((call) => call.id)]);
    for (const call of calls) this.#readCall(out, call);
    const base = this.#base(out);
    return [
      ...thoughtsIn(blocks).map((thought) => ({ ...base, kind: "reasoning" as const, text: thought })),
      ...(text.trim() === "" ? [] : [{ ...base, kind: "assistant" as const, text }]),
      ...calls.map(({ id, name, input }) => ({
        ...base,
        kind: "toolCall" as const,
        text: null,
        tool: { name, call: key.call(this.#session, id), input: isTooDeep(input) ? null : input, isError: false },
      })),
    ];
  }

  /** The usage of all responses is in another file, as one sum. */
  #addModelCall(out: FindingsOf, message: JsonObject, content: readonly string[]) {
    const { place } = out;
    out.add({
      type: "model-call",
      response: recordIn(place) ?? key.record(`${this.#session} line ${place.line}`),
      alias: key.usage(this.#session),
      ...fingerprintsOf({ id: asNonBlank(message.openaiMessageId), tokens: null, content }),
      model: asText(message.modelId) ?? "",
      tokens: NO_TOKENS,
      chars: 0,
      ended: true,
      fromTotals: true,
    });
  }

  #readCall(out: FindingsOf, { id, name, input }: ToolUse) {
    statePlan(out, input);
    if (name === SHELL) {
      const isBackground = input.fireAndForget === true;
      const call = key.call(this.#session, id);
      this.#shells.called(out, call, commandIn(input, "command"), this.#cwd, out.place.at, isBackground);
    }
    if (name !== TASK) return;
    if (resumedIn(input) === null) this.#tasks.add(id);
    readTask(out, this.#session, id, input);
  }

  #readOutcome(out: FindingsOf, json: JsonObject) {
    const reason = asText(json.reason) ?? "completed";
    const state = stateOf(reason);
    const error = state === "failed" ? (this.#error ?? reason) : null;
    const turn = asNonBlank(json.turnId);
    const part = out.part({ keys: turn === null ? [] : [key.record(`outcome ${turn}`)] });
    part.add({
      ...RECORD,
      state,
      turn: `its turn ended: ${reason}${error === null || error === reason ? "" : `: ${error}`}`,
      ...(error === null ? {} : { error }),
    });
    this.#error = null;
  }

  #base = ({ place: { keys, at } }: FindingsOf) => ({ speaker: this.agent, keys, at, tool: null, response: null });
}
