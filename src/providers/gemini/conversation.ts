import type { AgentKey } from "../../core/facts/ids.ts";
import type { RecordState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, isTooDeep, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { commandIn, ShellCalls } from "../kit/launch/shell-calls.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import * as key from "./keys.ts";
import type { GeminiFile } from "./locate.ts";
import { MESSAGE_TYPES, type Message, readMessage, type ToolCall } from "./message.ts";

const SHELL = "run_shell_command";

interface Memory {
  readonly session: string | null;
  readonly isAgent: boolean;
  readonly nameless: string | null;
  readonly introduced: readonly AgentKey[];
  readonly stated: readonly string[];
  readonly lastAt: number | null;
  readonly pending: readonly (readonly [string, string])[];
  readonly cwd: string | null;
}

/** Reads the messages of one agent's file, whatever its format. */
export class Conversation {
  readonly #of: GeminiFile;
  readonly #file: SourceFile;
  #session: string | null;
  #isAgent: boolean;
  /** The first message of an agent without an id. */
  #nameless: string | null;
  readonly #introduced: Set<AgentKey>;
  readonly #stated: Set<string>;
  #lastAt: number | null;
  /** Pairs of call and agent, until the session is known, which is part of the agent's key. */
  #pending: (readonly [string, string])[];
  #cwd: string | null;
  drafts: EventDraft[] = [];

  constructor(of: GeminiFile, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#of = of;
    this.#file = file;
    this.#session = memory?.session ?? (of.is === "agent" ? of.thread : null);
    this.#isAgent = memory?.isAgent ?? of.is === "agent";
    this.#nameless = memory?.nameless ?? null;
    this.#introduced = new Set(memory?.introduced);
    this.#stated = new Set(memory?.stated);
    this.#lastAt = memory?.lastAt ?? null;
    this.#pending = [...(memory?.pending ?? [])];
    this.#cwd = memory?.cwd ?? null;
  }

  save(): Memory {
    return {
      session: this.#session,
      isAgent: this.#isAgent,
      nameless: this.#nameless,
      introduced: [...this.#introduced],
      stated: [...this.#stated],
      lastAt: this.#lastAt,
      pending: this.#pending,
      cwd: this.#cwd,
    };
  }

  /** The session of the records. Falls back to the first characters of its id in the file name. */
  get #scope(): string {
    return this.#session ?? (this.#of.is === "session" ? this.#of.short : "");
  }

  get speaker(): AgentKey {
    if (this.#of.is === "agent") return key.agent(this.#of.thread, this.#of.agent);
    return this.#isAgent && this.#nameless !== null
      ? key.namelessAgent(this.#scope, this.#nameless)
      : key.thread(this.#scope);
  }

  /** The head of a file: its session and folder. */
  begin(out: FindingsOf, head: JsonObject): void {
    const session = asNonBlank(head.sessionId);
    if (this.#of.is === "session" && session !== null && this.#session === null) {
      const before = this.speaker;
      this.#session = session;
      this.#isAgent = head.kind === "subagent";
      // Messages precede the head, because the file was reordered.
      if (this.#introduced.has(before)) this.#nameParent(out, before);
    }
    this.#readFolder(out, head);
    if (!this.#isAgent || this.#of.is === "agent") this.#introduce(out.part({ speaker: this.speaker }));
    for (const [call, child] of this.#pending.splice(0))
      this.#spawned(out.part({ speaker: this.speaker }), call, child);
  }

  #nameParent(out: FindingsOf, before: AgentKey) {
    const says = "its messages are in the file of this session, before its head";
    out.part({ speaker: before }).add({
      type: "parent-named",
      child: before,
      parent: key.thread(this.#scope),
      rule: "same file",
      source: "inferred",
      confidence: 0.5,
      says,
    });
  }

  #readFolder(out: FindingsOf, head: JsonObject) {
    const cwd =
      asList(head.directories)
        .map(asNonBlank)
        .find((dir) => dir !== null) ?? null;
    this.#cwd = cwd ?? this.#cwd;
    if (cwd === null || this.#session === null || !this.#once(`cwd ${cwd}`)) return;
    // Only the head of an agent's file names the folder, which is also that of its thread.
    const part = out.part({ speaker: this.speaker });
    for (const agent of new Set([this.speaker, key.thread(this.#session)]))
      part.addOfFile({ type: "agent-described", agent, cwd });
  }

  #introduce(out: FindingsOf) {
    const agent = this.speaker;
    if (this.#introduced.has(agent)) return;
    this.#introduced.add(agent);
    const { path, bytes, bornMs = null } = this.#file;
    out.addOfFile({ type: "agent-described", agent, file: { path, bytes, bornMs } });
    if (!this.#isAgent) return;
    const place = { type: "parent-named", child: agent, parent: key.thread(this.#scope), confidence: 1 } as const;
    if (this.#of.is === "agent")
      out.addOfFile({
        ...place,
        rule: "chats/<session>",
        source: "protocol",
        says: `its file lies in the folder of session ${this.#scope}`,
      });
    else
      out.addOfFile({
        ...place,
        rule: "sessionId",
        source: "child_rollout",
        says: `its file is marked as an agent's and names session ${this.#scope}`,
      });
  }

  /**
   * Reads a message; false if it is not one. `order` distinguishes messages with the same time. `isWhole`: part of a
   * complete list, most of which was read before.
   */
  message(out: FindingsOf, json: JsonObject, order: number, isWhole: boolean): boolean {
    const message = readMessage(json);
    if (message === null) return false;
    if (!MESSAGE_TYPES.has(message.type)) {
      out.problem("record-unknown", `message of type ${message.type}`);
      return true;
    }
    if (this.#isAgent && this.#of.is === "session") this.#nameless ??= message.id;
    const isRepeated = !this.#once(`m ${message.id}`);
    if (isRepeated && isWhole) return true;
    this.#lastAt = message.at ?? this.#lastAt;
    const part = out.part({
      at: message.at,
      speaker: this.speaker,
      keys: [key.record(this.#scope, message.id)],
      order,
    });
    this.#introduce(part);
    this.#read(part, message);
    this.#addDrafts(message);
    return true;
  }

  #read(out: FindingsOf, message: Message) {
    const session = this.#scope;
    const call = (id: string) => key.call(session, id);
    const after = stateAfter(message, this.#isAgent);
    const isMessage =
      message.type === "gemini" || (message.type === "user" && message.results.length === 0 && !message.isContext);
    out.add({
      type: "record",
      role: message.type === "gemini" ? "assistant" : message.type === "user" ? "user" : "other",
      state: after?.state ?? null,
      certain: after?.certain ?? true,
      calls: message.calls.map(({ id, name }) => ({ call: call(id), name })),
      results: [
        ...message.calls
          .filter((c) => c.isDone)
          .map(({ id, isError, at }) => ({ call: call(id), isError, ...(at === null ? {} : { at }) })),
        ...message.results.map(({ id, isError }) => ({ call: call(id), isError })),
      ],
      // An agent's result is what it submits, not its last text.
      text: after?.state === "answered" && !this.#isAgent && message.text.trim() !== "" ? message.text : null,
      message: isMessage,
    });
    if (message.type === "gemini" && message.tokens !== null) {
      const { model, tokens } = message;
      out.add({ type: "model-call", response: key.record(session, message.id), model, tokens, chars: 0, ended: true });
    }
    for (const one of message.calls) {
      statePlan(out, one.args);
      if (one.spawn !== null) this.#spawn(out, one, one.spawn);
      if (one.name === SHELL && one.isDone && this.#once(`shell ${one.id}`)) this.#shell(out, one, message.at);
    }
    if (message.type === "user") this.#readPrompt(out, message);
  }

  /** The call and its result are in one record, which is written when the command has ended. */
  #shell(out: FindingsOf, { id, args, at, text }: ToolCall, calledAt: number | null) {
    const shells = new ShellCalls();
    const call = key.call(this.#scope, id);
    const isBackground = args.is_background === true;
    shells.called(out, call, commandIn(args, "command"), folderOf(this.#cwd, args), calledAt, isBackground);
    shells.returned(out, call, { text, at });
  }

  #spawn(
    out: FindingsOf,
    { id, name, at }: ToolCall,
    { agent, agentType, prompt, end }: NonNullable<ToolCall["spawn"]>,
  ) {
    const session = this.#scope;
    const call = key.call(session, id);
    if (this.#once(`spawn ${id}`)) {
      const offers =
        prompt === null ? [key.orderMatch(session)] : [key.promptMatch(session, prompt), key.orderMatch(session)];
      out.add({
        type: "spawn-called",
        call,
        tool: name,
        makes: "one",
        prompt,
        agentType,
        description: null,
        name: null,
        offers,
      });
    }
    if (agent !== null && this.#once(`made ${id} ${agent}`)) {
      if (this.#session === null) this.#pending.push([id, agent]);
      else this.#spawned(out, id, agent);
    }
    if (end !== null && this.#once(`end ${id} ${end.state}`))
      out.part({ at: at ?? this.#lastAt }).add({ type: "lifecycle", of: { call }, source: "parent_rollout", ...end });
  }

  #spawned(out: FindingsOf, call: string, child: string) {
    const says = `its call names agent ${child}`;
    const made = { call: key.call(this.#scope, call), child: key.agent(this.#scope, child) };
    out.add({ type: "call-spawned", ...made, rule: "toolCalls.agentId", source: "parent_rollout", says });
  }

  /** The first prompt, and the keys to match a spawn call. */
  #readPrompt(out: FindingsOf, message: Message) {
    const agent = this.speaker;
    const cwd = message.isContext ? (/Workspace Directories:\**\s*\n\s*- (.+)/.exec(message.text)?.[1] ?? null) : null;
    if (cwd !== null) this.#cwd = cwd;
    if (cwd !== null && this.#once(`cwd ${cwd}`)) out.addOfFile({ type: "agent-described", agent, cwd });
    if (!this.#isAgent && this.#cwd !== null && this.#once("began"))
      out.add({ type: "thread-began", thread: agent, cwd: this.#cwd });
    if (message.isContext || message.results.length > 0 || message.text.trim() === "" || !this.#once(`prompt ${agent}`))
      return;
    const task = this.#isAgent ? (WRAPPED.exec(message.text)?.[2] ?? message.text) : message.text;
    out.add({ type: "agent-described", agent, prompt: task });
    if (!this.#isAgent) return;
    const spawnMatch = { type: "spawn-match", agent, source: "inferred", exclusive: true } as const;
    out.add({
      ...spawnMatch,
      match: key.promptMatch(this.#scope, task),
      rule: "prompt",
      says: "its first prompt has the prompt of the call",
    });
    // Recorded calls name agents with ids of this length.
    if (this.#of.is === "session" || this.#of.agent.length < FULL_ID)
      out.add({ ...spawnMatch, match: key.orderMatch(this.#scope), rule: "order", says: "it began after the call" });
  }

  /** Reads `$set`, or the fields of a document. */
  set(out: FindingsOf, set: JsonObject, line: number): void {
    const messages = set.messages;
    if (Array.isArray(messages)) {
      if (messages.length === 0 && this.#stated.size > 0) this.#draft("note", "The conversation was emptied.", line);
      messages.forEach((message, i) => {
        const json = asObject(message);
        if (json === null || !this.message(out, json, line + (i + 1) / (messages.length + 1), true))
          out.problem("record-malformed", "a message without id or type");
      });
    }
    if (asNonBlank(set.sessionId) !== null) this.begin(out, set);
    else this.#readFolder(out, set);
    const summary = asNonBlank(set.summary);
    if (summary === null || !this.#once(`summary ${summary}`)) return;
    const part = out.part({ at: this.#lastAt, speaker: this.speaker, keys: [] });
    if (!this.#isAgent) part.addOfFile({ type: "thread-titled", of: this.speaker, title: summary, rank: 1 });
    else
      part.add({
        type: "lifecycle",
        of: this.speaker,
        state: "completed",
        source: "protocol",
        says: "its file contains the result that it submitted",
        result: summary,
      });
  }

  /** Reads `$rewindTo`: the messages from there on were removed; their usage still counts. */
  rewind(out: FindingsOf, line: number): void {
    const part = out.part({ at: this.#lastAt, speaker: this.speaker, keys: [] });
    this.#introduce(part);
    part.add({ ...RECORD, state: "answered", certain: false });
    this.#draft("note", "The conversation was rewound to an earlier message.", line);
  }

  #draft(kind: EventDraft["kind"], text: string, line: number) {
    this.drafts.push({
      speaker: this.speaker,
      keys: [key.record(this.#scope, `line ${line}`)],
      at: this.#lastAt,
      kind,
      text,
      tool: null,
      response: null,
    });
  }

  /** The events of the message; repeated ones are omitted. */
  #addDrafts(message: Message) {
    const response = message.tokens === null ? null : key.record(this.#scope, message.id);
    const base = {
      speaker: this.speaker,
      keys: [key.record(this.#scope, message.id)],
      at: message.at,
      tool: null,
      response,
    };
    const addText = (kind: EventDraft["kind"], text: string) => {
      if (text.trim() !== "" && this.#once(`text ${message.id} ${kind} ${text.length}`))
        this.drafts.push({ ...base, kind, text });
    };
    for (const thought of message.thoughts) addText("reasoning", thought);
    addText(KINDS.get(message.isContext ? "info" : message.type) ?? "note", message.text);
    for (const { id, name, args } of message.calls) {
      const tool = { name, call: key.call(this.#scope, id), input: isTooDeep(args) ? null : args, isError: false };
      if (this.#once(`call ${id}`)) this.drafts.push({ ...base, kind: "toolCall", text: null, tool });
    }
    for (const { id, text, isError, at } of [
      ...message.calls.filter((c) => c.isDone),
      ...message.results.map((a) => ({ ...a, at: message.at })),
    ]) {
      const tool = { name: null, call: key.call(this.#scope, id), input: null, isError };
      if (this.#once(`result ${id}`))
        this.drafts.push({ ...base, at: at ?? message.at, kind: "toolResult", text, tool });
    }
  }

  /** True at the first call for this name. */
  #once(what: string): boolean {
    const isNew = !this.#stated.has(what);
    this.#stated.add(what);
    return isNew;
  }
}

/** The folder of a shell command; a relative one is below the session's. */
function folderOf(cwd: string | null, args: JsonObject): string | null {
  const folder = asNonBlank(args.dir_path) ?? asNonBlank(args.directory);
  if (folder === null || folder === "." || folder.startsWith("/")) return folder === "." ? cwd : (folder ?? cwd);
  return cwd === null ? null : `${cwd}/${folder.replace(/^\.\//, "")}`;
}

/** The product wraps the prompt of an agent into another text, such as `<objective>…</objective>`. */
const WRAPPED = /<(\w+)>\n([\s\S]*?)\n<\/\1>\s*$/;
const FULL_ID = 36;
const KINDS: ReadonlyMap<string, EventDraft["kind"]> = new Map([
  ["user", "user"],
  ["gemini", "assistant"],
  ["error", "error"],
]);

/** The tool with which agents submit their result. */
const SUBMIT_TOOL = "complete_task";

/** A message is written without its calls, and again when they have ended, so a response may still turn into a call. */
function stateAfter(
  message: Message,
  isAgent: boolean,
): { readonly state: RecordState; readonly certain: boolean } | null {
  switch (message.type) {
    case "user":
      return message.isContext ? null : { state: "open", certain: true };
    case "gemini":
      if (isAgent && message.calls.some((c) => c.name === SUBMIT_TOOL && c.isDone && !c.isError))
        return { state: "answered", certain: true };
      if (isAgent || message.calls.length > 0 || message.requestsTools || message.text.trim() === "")
        return { state: "open", certain: true };
      return { state: "answered", certain: false };
    case "error":
      return { state: "failed", certain: true };
    case "info":
      return /^request cancel/i.test(message.text) ? { state: "interrupted", certain: true } : null;
    default:
      return null;
  }
}
