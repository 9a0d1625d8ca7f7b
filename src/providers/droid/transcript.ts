import { recordIn } from "../../core/facts/ids.ts";
import type { Fact } from "../../core/facts/observation.ts";
import { fingerprintsOf, NO_TOKENS } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { ConversationFile } from "../kit/conversation-file.ts";
import { commandIn } from "../kit/launch/shell-calls.ts";
import { blockText, type ToolUse, thoughtsIn, toolResultsIn, toolUsesIn } from "../kit/message-blocks.ts";
import type { Message, ShellUse, Tools } from "../kit/messages.ts";
import { RECORD } from "../kit/record.ts";
import { firstLine } from "../kit/text.ts";
import type { RecordEvents, RecordHead } from "../kit/transcript-file.ts";
import * as key from "./keys.ts";
import { readNotice, readTask, readTaskResult, resumedIn, stateOf, TASK, taskIn } from "./tasks.ts";

const RECORD_START = /\{"type":"/g;
const SHELL = "Execute";

interface State {
  /** The time of the last record that has one; outcomes of turns have none. */
  lastAt: number | null;
  /** The last error that was shown to the user. */
  error: string | null;
  cwd: string | null;
  /** The beginning of the thread was stated; true for children. */
  isBegun: boolean;
}

const toolsOf = (session: string): Tools => ({
  key: (id) => key.call(session, id),
  spawn(out, { id, name, input }) {
    if (name !== TASK) return false;
    readTask(out, session, id, input);
    return resumedIn(input) === null;
  },
  spawned: (out, { id, text, isError }) => readTaskResult(out, session, id, text, isError),
});

/** `<session>.jsonl`: a session, which may be a child of another one. */
export class Transcript extends ConversationFile<State> {
  readonly #session: string;

  constructor(session: string, file: SourceFile, saved?: unknown) {
    const initial = { lastAt: null, error: null, cwd: null, isBegun: false };
    super(key.session(session), file, RECORD_START, toolsOf(session), initial, saved);
    this.#session = session;
  }

  protected headOf(json: JsonObject | null): RecordHead {
    this.state.lastAt = asTime(json?.timestamp) ?? this.state.lastAt;
    const id = asNonBlank(json?.id);
    return { at: this.state.lastAt, keys: json?.type === "message" && id !== null ? [key.record(id)] : [] };
  }

  protected read(out: FindingsOf, json: JsonObject): RecordEvents {
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
        return [this.event(out, "compaction", "The conversation was compacted.")];
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
    this.state.cwd = cwd;
    this.state.isBegun = parent !== null;
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
    if (!this.state.isBegun && this.state.cwd !== null && out.place.at !== null) {
      this.state.isBegun = true;
      out.add({ type: "thread-began", thread: this.agent, cwd: this.state.cwd });
    }
    const message = asObject(json.message) ?? {};
    const content = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
    const blocks = asList(content)
      .map(asObject)
      .filter((block) => block !== null);
    const read =
      message.role === "assistant"
        ? this.#response(out, message, blocks)
        : this.#user(out, asText(json.id) ?? "", message, blocks);
    return this.message(out, read);
  }

  #user(out: FindingsOf, id: string, message: JsonObject, blocks: readonly JsonObject[]): Message {
    const results = toolResultsIn(blocks).map((one) => ({ ...one, text: blockText(one.content) }));
    const text = blockText(blocks);
    // Reminders that precede the first prompt.
    const isContext = id.startsWith("context-");
    const isShown = message.visibility === "user_only";
    const isNotice = readNotice(out, text);
    const isPrompt = !isContext && !isShown && !isNotice && results.length === 0 && text.trim() !== "";
    if (isShown) this.state.error = asNonBlank(firstLine(text));
    const task = taskIn(text);
    // The first one of its own counts: a forked session begins with copies.
    const prompt: Fact = {
      type: "agent-described",
      agent: this.agent,
      prompt: task?.prompt ?? text,
      ...(task?.type == null ? {} : { agentType: task.type }),
      ...(task?.description == null ? {} : { description: task.description }),
    };
    const kind = isShown ? "error" : isPrompt ? "user" : "note";
    return {
      role: "user",
      state: isContext || isShown ? null : "open",
      isMessage: isPrompt,
      text,
      shown: isContext ? null : { kind, text: task?.prompt ?? text },
      results,
      facts: isPrompt ? [prompt] : [],
    };
  }

  #response({ place }: FindingsOf, message: JsonObject, blocks: readonly JsonObject[]): Message {
    const [calls, text] = [toolUsesIn(blocks), blockText(blocks)];
    // The usage of all responses is in another file, as one sum.
    const usage: Fact = {
      type: "model-call",
      response: recordIn(place) ?? key.record(`${this.#session} line ${place.line}`),
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
    };
    return {
      role: "assistant",
      state: calls.length === 0 && text.trim() !== "" ? "answered" : "open",
      certain: false,
      isMessage: true,
      text,
      thoughts: thoughtsIn(blocks),
      calls: calls.map((call) => ({ ...call, shell: this.#shellIn(call) })),
      facts: [usage],
    };
  }

  #shellIn({ name, input }: ToolUse): ShellUse | null {
    if (name !== SHELL) return null;
    return { command: commandIn(input, "command"), cwd: this.state.cwd, isBackground: input.fireAndForget === true };
  }

  #readOutcome(out: FindingsOf, json: JsonObject) {
    const reason = asText(json.reason) ?? "completed";
    const state = stateOf(reason);
    const error = state === "failed" ? (this.state.error ?? reason) : null;
    const turn = asNonBlank(json.turnId);
    const part = out.part({ keys: turn === null ? [] : [key.record(`outcome ${turn}`)] });
    part.add({
      ...RECORD,
      state,
      turn: `its turn ended: ${reason}${error === null || error === reason ? "" : `: ${error}`}`,
      ...(error === null ? {} : { error }),
    });
    this.state.error = null;
  }
}
