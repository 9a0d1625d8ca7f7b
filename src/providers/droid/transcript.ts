import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import { fingerprintsOf } from "../../core/facts/usage.ts";
import { FindingsOf } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, isTooDeep, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { commandIn, ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { readJsonLine } from "../kit/lines.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import * as key from "./keys.ts";
import { firstLine, readNotice, readTask, readTaskResult, resumedIn, stateOf, TASK, taskIn } from "./tasks.ts";

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
export class Transcript implements Parser {
  readonly #session: string;
  readonly #agent: AgentKey;
  readonly #file: SourceFile;
  #isIntroduced: boolean;
  /** Calls that spawn a child and have no result yet. */
  readonly #tasks: Set<string>;
  /** Outcomes have no time. */
  #lastAt: number | null;
  /** The last error that was shown to the user. */
  #error: string | null;
  #cwd: string | null;
  /** When and where it began was stated; true for children. */
  #isBegun: boolean;
  readonly #shells: ShellCalls;
  #last: { readonly line: number; readonly drafts: readonly EventDraft[] } | null = null;

  constructor(session: string, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#session = session;
    this.#agent = key.session(session);
    this.#file = file;
    this.#isIntroduced = memory?.isIntroduced ?? false;
    this.#tasks = new Set(memory?.tasks);
    this.#lastAt = memory?.lastAt ?? null;
    this.#error = memory?.error ?? null;
    this.#cwd = memory?.cwd ?? null;
    this.#isBegun = memory?.isBegun ?? false;
    this.#shells = new ShellCalls(memory?.shells);
  }

  save(): Memory {
    return {
      isIntroduced: this.#isIntroduced,
      tasks: [...this.#tasks],
      lastAt: this.#lastAt,
      error: this.#error,
      cwd: this.#cwd,
      isBegun: this.#isBegun,
      shells: this.#shells.save(),
    };
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line);
    return this.#last?.drafts ?? [];
  }

  push(record: Uint8Array, line: number): Findings {
    this.#last = { line, drafts: [] };
    const { value, isRead, problems } = readJsonLine(record, this.#file.path, line, RECORD_START);
    const json = asObject(value);
    const at = asTime(json?.timestamp) ?? this.#lastAt;
    this.#lastAt = at;
    const id = asNonBlank(json?.id);
    const keys = json?.type === "message" && id !== null ? [key.record(id)] : [];
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker: this.#agent, keys });
    out.problems.push(...problems);
    if (json === null) {
      if (isRead && problems.length === 0) out.problem("record-malformed", "not an object");
      return out;
    }
    this.#introduce(out);
    this.#last = { line, drafts: this.#read(out, json, keys, at, line) };
    return out;
  }

  #introduce(out: FindingsOf) {
    if (this.#isIntroduced) return;
    this.#isIntroduced = true;
    const { path, bytes, bornMs = null } = this.#file;
    out.addOfFile({ type: "agent-described", agent: this.#agent, file: { path, bytes, bornMs } });
  }

  #read(
    out: FindingsOf,
    json: JsonObject,
    keys: readonly RecordKey[],
    at: number | null,
    line: number,
  ): readonly EventDraft[] {
    switch (json.type) {
      case "session_start":
        this.#begin(out, json);
        return [];
      case "message":
        return this.#readMessage(out, json, keys, at, line);
      case "agent_turn_outcome":
        this.#readOutcome(out, json);
        return [];
      case "compaction_state":
        return [{ ...this.#base(keys, at), kind: "compaction", text: "The conversation was compacted." }];
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
    if (cwd !== null) out.addOfFile({ type: "agent-described", agent: this.#agent, cwd });
    this.#cwd = cwd;
    this.#isBegun = parent !== null;
    if (parent === null) {
      if (title !== null)
        out.addOfFile({
          type: "thread-titled",
          of: this.#agent,
          title,
          rank: json.isSessionTitleManuallySet === true ? 0 : 1,
        });
      return;
    }
    // A child has been given a task.
    out.addOfFile({ type: "agent-described", agent: this.#agent, kind: "subagent", vouched: true });
    out.add({ ...RECORD, state: "open" });
    out.addOfFile({
      type: "parent-named",
      child: this.#agent,
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
        child: this.#agent,
        rule: "session_start.callingToolUseId",
        source: "protocol",
        says: `its session names call ${call}`,
      });
  }

  #readMessage(out: FindingsOf, json: JsonObject, keys: readonly RecordKey[], at: number | null, line: number) {
    if (!this.#isBegun && this.#cwd !== null && at !== null) {
      this.#isBegun = true;
      out.add({ type: "thread-began", thread: this.#agent, cwd: this.#cwd });
    }
    const message = asObject(json.message) ?? {};
    const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    const blocks = asList(content)
      .map(asObject)
      .filter((block) => block !== null);
    if (message.role === "assistant") return this.#readResponse(out, message, blocks, keys, at, line);
    return this.#readUser(out, asText(json.id) ?? "", message, blocks, keys, at);
  }

  #readUser(
    out: FindingsOf,
    id: string,
    message: JsonObject,
    blocks: readonly JsonObject[],
    keys: readonly RecordKey[],
    at: number | null,
  ): readonly EventDraft[] {
    const results = blocks.flatMap((block) => {
      const call = asNonBlank(block.tool_use_id);
      return block.type !== "tool_result" || call === null
        ? []
        : [{ id: call, isError: block.is_error === true, text: textIn(block.content) }];
    });
    const text = textIn(blocks);
    // Reminders that precede the first prompt.
    const isContext = id.startsWith("context-");
    const isShown = message.visibility === "user_only";
    const isNotice = readNotice(out, text);
    out.add({
      ...RECORD,
      role: "user",
      state: isContext || isShown ? null : "open",
      results: results.map((one) => ({ call: key.call(this.#session, one.id), isError: one.isError })),
      message: results.length === 0 && !isContext && !isShown && !isNotice && text.trim() !== "",
    });
    for (const one of results) {
      if (this.#tasks.delete(one.id)) readTaskResult(out, this.#session, one.id, one.text, one.isError);
      this.#shells.returned(out, key.call(this.#session, one.id), { text: one.text, at });
    }
    if (isShown) this.#error = asNonBlank(firstLine(text));
    const isPrompt = !isContext && !isShown && !isNotice && results.length === 0 && text.trim() !== "";
    const task = taskIn(text);
    // The first one of its own counts: a forked session begins with copies.
    if (isPrompt)
      out.add({
        type: "agent-described",
        agent: this.#agent,
        prompt: task?.prompt ?? text,
        ...(task?.type == null ? {} : { agentType: task.type }),
        ...(task?.description == null ? {} : { description: task.description }),
      });
    const kind = isShown ? "error" : isPrompt ? "user" : "note";
    return [
      ...results.map((one) => ({
        ...this.#base(keys, at),
        kind: "toolResult" as const,
        text: one.text,
        tool: { name: null, call: key.call(this.#session, one.id), input: null, isError: one.isError },
      })),
      ...(text.trim() === "" || isContext
        ? []
        : [{ ...this.#base(keys, at), kind, text: task?.prompt ?? text } as const]),
    ];
  }

  #readResponse(
    out: FindingsOf,
    message: JsonObject,
    blocks: readonly JsonObject[],
    keys: readonly RecordKey[],
    at: number | null,
    line: number,
  ): readonly EventDraft[] {
    const calls = blocks.flatMap((block) => {
      const [id, name] = [asNonBlank(block.id), asNonBlank(block.name)];
      return block.type !== "tool_use" || id === null || name === null
        ? []
        : [{ id, name, input: asObject(block.input) ?? {} }];
    });
    const text = textIn(blocks);
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
    // The usage of all responses is in another file, as one sum.
    out.add({
      type: "model-call",
      response: keys[0] ?? key.record(`${this.#session} line ${line}`),
      alias: key.usage(this.#session),
      ...fingerprintsOf({
        id: asNonBlank(message.openaiMessageId),
        tokens: null,
        content: [text, ...calls.map((call) => call.id)],
      }),
      model: asText(message.modelId) ?? "",
      tokens: NO_TOKENS,
      chars: 0,
      ended: true,
      fromTotals: true,
    });
    for (const { id, name, input } of calls) {
      statePlan(out, input);
      if (name === SHELL) {
        const isBackground = input.fireAndForget === true;
        const call = key.call(this.#session, id);
        this.#shells.called(out, call, commandIn(input, "command"), this.#cwd, at, isBackground);
      }
      if (name !== TASK) continue;
      if (resumedIn(input) === null) this.#tasks.add(id);
      readTask(out, this.#session, id, input);
    }
    const thoughts = blocks.flatMap((block) => (block.type === "thinking" ? (asNonBlank(block.thinking) ?? []) : []));
    const base = this.#base(keys, at);
    return [
      ...thoughts.map((thought) => ({ ...base, kind: "reasoning" as const, text: thought })),
      ...(text.trim() === "" ? [] : [{ ...base, kind: "assistant" as const, text }]),
      ...calls.map(({ id, name, input }) => ({
        ...base,
        kind: "toolCall" as const,
        text: null,
        tool: {
          name,
          call: key.call(this.#session, id),
          input: isTooDeep(input) ? null : input,
          isError: false,
        },
      })),
    ];
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

  #base = (keys: readonly RecordKey[], at: number | null) => ({
    speaker: this.#agent,
    keys,
    at,
    tool: null,
    response: null,
  });
}

/** All texts of blocks; the content of a result is a text or blocks. */
const textIn = (content: unknown): string =>
  typeof content === "string"
    ? content
    : asList(content)
        .flatMap((block) => (asObject(block)?.type === "text" ? (asText(asObject(block)?.text) ?? []) : []))
        .join("\n");

const NO_TOKENS = {
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
};
