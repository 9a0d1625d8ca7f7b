import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import type { ModelCalled } from "../../core/facts/observation.ts";
import { FindingsOf } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, isTooDeep } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { commandIn, ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { readJsonLine } from "../kit/lines.ts";
import {
  type CopilotEvent,
  isKnown,
  readEvent,
  requestsIn,
  resultText,
  stateAfter,
  type ToolRequest,
} from "./event.ts";
import * as key from "./keys.ts";
import { compactionIn, outputIn, readUsage, totalIn } from "./usage.ts";

const RECORD_START = /\{"type":"[a-z_]+\.?[a-z_]*","data":/g;
const OUTPUT_ONLY = "this version of the product does not record the input tokens of each response, only the output";
/** The spawn tool. */
const SPAWN_TOOL = "task";
const SHELL = "bash";

interface Memory {
  readonly introduced: readonly AgentKey[];
  readonly stated: readonly string[];
  readonly models: readonly (readonly [AgentKey, string])[];
  readonly cwd: string | null;
  readonly shells: ShellMemory;
}

/** `events.jsonl` of a session: all events of the session and its agents, each with the agent's id. */
export class Transcript implements Parser {
  readonly #session: string;
  readonly #file: SourceFile;
  readonly #marksProcess: boolean;
  readonly #introduced: Set<AgentKey>;
  readonly #stated: Set<string>;
  /** The model of each agent, as far as known. */
  readonly #models: Map<AgentKey, string>;
  #cwd: string | null;
  readonly #shells: ShellCalls;
  #last: { readonly line: number; readonly drafts: readonly EventDraft[] } | null = null;

  /** `marksProcess`: the session has a folder, in which a lock file marks its running process. */
  constructor(session: string, file: SourceFile, marksProcess: boolean, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#session = session;
    this.#file = file;
    this.#marksProcess = marksProcess && file.isForeign !== true;
    this.#introduced = new Set(memory?.introduced);
    this.#stated = new Set(memory?.stated);
    this.#models = new Map(memory?.models);
    this.#cwd = memory?.cwd ?? null;
    this.#shells = new ShellCalls(memory?.shells);
  }

  save(): Memory {
    return {
      introduced: [...this.#introduced],
      stated: [...this.#stated],
      models: [...this.#models],
      cwd: this.#cwd,
      shells: this.#shells.save(),
    };
  }

  push(record: Uint8Array, line: number): Findings {
    const { value, isRead, problems } = readJsonLine(record, this.#file.path, line, RECORD_START);
    const json = asObject(value);
    const event = json === null ? null : readEvent(json);
    const speaker = event === null ? key.thread(this.#session) : this.#agentOf(event);
    const keys = event === null ? [] : this.#keysOf(event);
    const out = new FindingsOf({ path: this.#file.path, line, at: event?.at ?? null, speaker, keys });
    out.addProblems(problems);
    if (event === null && isRead) out.problem("record-malformed", json === null ? "not an object" : "no type");
    if (event !== null && !isKnown(event.type)) out.problem("record-unknown", event.type);
    else if (event !== null) this.#read(out, event, speaker);
    this.#last = { line, drafts: event === null ? [] : this.#eventsOf(event, speaker) };
    return out;
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line);
    return this.#last?.drafts ?? [];
  }

  #agentOf({ agent }: CopilotEvent): AgentKey {
    return agent === null ? key.thread(this.#session) : key.agent(this.#session, agent);
  }

  /** All records of one response share the last key. */
  #keysOf({ id, data }: CopilotEvent): readonly RecordKey[] {
    const response = asNonBlank(data.apiCallId);
    return [
      ...(id === null ? [] : [key.record(this.#session, id)]),
      ...(response === null ? [] : [key.response(this.#session, response)]),
    ];
  }

  #read(out: FindingsOf, event: CopilotEvent, speaker: AgentKey) {
    this.#introduce(out, event, speaker);
    this.#rememberModel(event, speaker);
    this.#readRecord(out, event);
    switch (event.type) {
      case "session.start":
      case "session.resume":
        return this.#readContext(out, event, speaker);
      case "session.title_changed": {
        const title = asNonBlank(event.data.title);
        return title === null
          ? undefined
          : out.addOfFile({ type: "thread-titled", of: key.thread(this.#session), title, rank: 1 });
      }
      case "session.usage_record":
        return this.#readUsage(out, event);
      case "session.shutdown": {
        const total = totalIn(event);
        return total === null ? undefined : out.part({ speaker: key.thread(this.#session) }).add(total);
      }
      case "user.message":
        return this.#prompt(out, event, speaker);
      case "assistant.message":
        this.#readOutput(out, event, speaker);
        return this.#readSpawns(out, event);
      case "session.compaction_complete":
        for (const call of compactionIn(event, this.#session)) this.#addInternalCall(out, call);
        return;
      case "tool.execution_complete":
        this.#readShellResult(out, event);
        return this.#readFailedSpawn(out, event);
      case "subagent.started":
        return this.#began(out, event, speaker);
      case "subagent.completed":
      case "subagent.failed":
        return this.#ended(out, event, speaker);
    }
  }

  #introduce(out: FindingsOf, { agent, data }: CopilotEvent, speaker: AgentKey) {
    const call = asNonBlank(data.parentToolCallId);
    if (agent !== null && call !== null && this.#once(`made ${agent}`))
      out.add({
        type: "call-spawned",
        call: key.call(this.#session, call),
        child: speaker,
        rule: "parentToolCallId",
        source: "child_rollout",
        says: `its own events name call ${call}`,
      });
    if (this.#introduced.has(speaker)) return;
    this.#introduced.add(speaker);
    const { path, bytes, bornMs = null } = this.#file;
    out.addOfFile({ type: "agent-described", agent: speaker, file: { path, bytes, bornMs } });
  }

  /** Responses of old versions do not name their model; surrounding records do. */
  #rememberModel({ data }: CopilotEvent, speaker: AgentKey) {
    const model = asNonBlank(data.newModel) ?? asNonBlank(data.selectedModel) ?? asNonBlank(data.model);
    if (model !== null) this.#models.set(speaker, model);
  }

  #readContext(out: FindingsOf, { type, data }: CopilotEvent, agent: AgentKey) {
    const context = asObject(data.context);
    const [cwd, branch, productVersion] = [
      asNonBlank(context?.cwd),
      asNonBlank(context?.branch),
      asNonBlank(data.copilotVersion),
    ];
    this.#cwd = cwd ?? this.#cwd;
    if (type === "session.start" && cwd !== null && agent === key.thread(this.#session))
      out.add({ type: "thread-began", thread: agent, cwd });
    const known = {
      ...(cwd === null ? {} : { cwd }),
      ...(branch === null ? {} : { branch }),
      ...(productVersion === null ? {} : { productVersion }),
    };
    // A lock file marks a running process; it is removed when the process ends.
    out.addOfFile({
      type: "agent-described",
      agent,
      ...known,
      ...(this.#marksProcess ? { marksProcess: true as const } : {}),
    });
  }

  #readShellResult(out: FindingsOf, event: CopilotEvent) {
    const id = asNonBlank(event.data.toolCallId);
    if (id !== null) this.#shells.returned(out, key.call(this.#session, id), { text: resultText(event), at: event.at });
  }

  #readRecord(out: FindingsOf, event: CopilotEvent) {
    const { type, data } = event;
    const call = (id: string) => key.call(this.#session, id);
    const state = stateAfter(event);
    const resultOf = type === "tool.execution_complete" ? asNonBlank(data.toolCallId) : null;
    const content = asText(data.content) ?? "";
    out.add({
      type: "record",
      role:
        type === "assistant.message" ? "assistant" : type === "user.message" || resultOf !== null ? "user" : "other",
      state,
      certain: true,
      calls: type === "assistant.message" ? requestsIn(event).map(({ id, name }) => ({ call: call(id), name })) : [],
      results: resultOf === null ? [] : [{ call: call(resultOf), isError: data.success === false }],
      text: type === "assistant.message" && state === "answered" && content.trim() !== "" ? content : null,
      message: type === "assistant.message" || type === "user.message",
    });
  }

  #readUsage(out: FindingsOf, event: CopilotEvent) {
    const usage = readUsage(event, this.#session);
    if (usage === null) return out.problem("record-malformed", "no usage");
    this.#once("usage");
    if (usage.isInternal) this.#addInternalCall(out, usage.call);
    else out.add(usage.call);
  }

  #addInternalCall(out: FindingsOf, call: ModelCalled) {
    const agent = key.internal(this.#session);
    const part = out.part({ speaker: agent, keys: [] });
    part.add({
      type: "agent-described",
      agent,
      internal: { why: "a request of the product itself", unlessSpawned: false },
    });
    part.add(call);
  }

  #readOutput(out: FindingsOf, event: CopilotEvent, agent: AgentKey) {
    // Versions that record usage separately do so for every response.
    const isAll = !this.#stated.has("usage");
    const call = outputIn(
      event,
      this.#session,
      isAll,
      this.#models.get(agent) ?? this.#models.get(key.thread(this.#session)) ?? "",
    );
    if (call === null) return;
    out.add(call);
    if (isAll && this.#once(`output ${agent}`)) out.addOfFile({ type: "agent-described", agent, warning: OUTPUT_ONLY });
  }

  #prompt(out: FindingsOf, { data, agent: id }: CopilotEvent, agent: AgentKey) {
    const [prompt, from] = [asNonBlank(data.content), /^agent-(.+)$/.exec(asText(data.source) ?? "")?.[1]];
    if (prompt !== null && this.#once(`prompt ${agent}`)) out.add({ type: "agent-described", agent, prompt });
    if (id === null || from === undefined || !this.#once(`from ${id}`)) return;
    const parent = from === this.#session ? key.thread(this.#session) : key.agent(this.#session, from);
    const says = `its first message is from ${from}`;
    out.add({
      type: "parent-named",
      child: agent,
      parent,
      rule: "user.message.source",
      source: "child_rollout",
      confidence: 1,
      says,
    });
  }

  #readSpawns(out: FindingsOf, event: CopilotEvent) {
    for (const { id, name, args } of requestsIn(event)) {
      if (name === SHELL) {
        const isBackground = args.mode === "async" || args.detach === true;
        const call = key.call(this.#session, id);
        this.#shells.called(out, call, commandIn(args, "command"), this.#cwd, event.at, isBackground);
      }
      if (name !== SPAWN_TOOL || !this.#once(`spawn ${id}`)) continue;
      if (args.mode === "background") this.#once(`background ${id}`);
      out.add({
        type: "spawn-called",
        call: key.call(this.#session, id),
        tool: name,
        makes: "one",
        prompt: asNonBlank(args.prompt),
        agentType: asNonBlank(args.agent_type),
        description: asNonBlank(args.description),
        name: asNonBlank(args.name),
        offers: [],
      });
    }
  }

  /** A spawn call that failed before the agent began; agents that began have their own events. */
  #readFailedSpawn(out: FindingsOf, event: CopilotEvent) {
    const call = asNonBlank(event.data.toolCallId);
    if (
      call === null ||
      event.data.success !== false ||
      !this.#stated.has(`spawn ${call}`) ||
      this.#stated.has(`began ${call}`)
    )
      return;
    const says = `its call failed: ${resultText(event).split("\n")[0]}`;
    out.add({
      type: "lifecycle",
      of: { call: key.call(this.#session, call) },
      state: "errored",
      source: "parent_rollout",
      says,
      result: null,
    });
  }

  #began(out: FindingsOf, { data }: CopilotEvent, agent: AgentKey) {
    if (agent === key.thread(this.#session)) return;
    const agentType = asNonBlank(data.agentType) ?? asNonBlank(data.agentName);
    const mode = asNonBlank(data.executionMode);
    const isBackground = this.#stated.has(`background ${asNonBlank(data.toolCallId) ?? ""}`);
    const background = mode === null ? isBackground || null : mode === "background";
    // Without a mode (1.0.64) these fields describe the agent type, not this agent.
    const [name, description] =
      mode === null ? [null, null] : [asNonBlank(data.agentDisplayName), asNonBlank(data.agentDescription)];
    out.add({
      type: "agent-described",
      agent,
      kind: "subagent",
      ...(background === null ? {} : { background }),
      ...(agentType === null ? {} : { agentType }),
      ...(name === null ? {} : { name }),
      ...(description === null ? {} : { description }),
    });
    const above = asNonBlank(data.parentId);
    const named = { type: "parent-named", child: agent, rule: "subagent.started.parentId" } as const;
    // 1.0.64 never names a parent.
    if (above === null)
      out.add({
        ...named,
        parent: key.thread(this.#session),
        source: "inferred",
        confidence: 0.5,
        says: "it began, and no agent is named as its parent",
      });
    else
      out.add({
        ...named,
        parent: key.agent(this.#session, above),
        source: "protocol",
        confidence: 1,
        says: `the product reports that it began below agent ${above}`,
      });
    const call = asNonBlank(data.toolCallId);
    if (call === null) return;
    this.#once(`began ${call}`);
    const made = {
      call: key.call(this.#session, call),
      child: agent,
      rule: "subagent.started.toolCallId",
      source: "protocol",
    } as const;
    out.add({ type: "call-spawned", ...made, says: `the product reports that call ${call} spawned it` });
  }

  #ended(out: FindingsOf, { type, data }: CopilotEvent, agent: AgentKey) {
    if (agent === key.thread(this.#session)) return;
    const error = asNonBlank(data.error);
    const end =
      type === "subagent.completed"
        ? { state: "completed" as const, says: "the product reports that it completed" }
        : /abort|cancel|interrupt/i.test(error ?? "")
          ? { state: "shutdown" as const, says: `the product reports that it was stopped: ${error}` }
          : {
              state: "errored" as const,
              says: `the product reports that it failed${error === null ? "" : `: ${error}`}`,
            };
    out.add({ type: "lifecycle", of: agent, source: "protocol", result: null, ...end });
  }

  /** The events of a record. */
  #eventsOf(event: CopilotEvent, speaker: AgentKey): EventDraft[] {
    const { type, data, at } = event;
    const response = asNonBlank(data.apiCallId);
    const base = {
      speaker,
      keys: this.#keysOf(event),
      at,
      tool: null,
      response: response === null ? null : key.response(this.#session, response),
    };
    const textEvent = (kind: EventDraft["kind"], text: unknown): EventDraft[] => {
      const trimmed = asNonBlank(text);
      return trimmed === null ? [] : [{ ...base, kind, text: trimmed }];
    };
    switch (type) {
      case "user.message":
        return textEvent(
          data.source === undefined || /^(agent-|user)/.test(asText(data.source) ?? "") ? "user" : "note",
          data.content,
        );
      case "assistant.message":
        return [
          ...textEvent("reasoning", data.reasoningText),
          ...textEvent("assistant", data.content),
          ...requestsIn(event).map((request): EventDraft => {
            return { ...base, kind: "toolCall", text: null, tool: this.#toolOf(request) };
          }),
        ];
      case "assistant.reasoning":
        return textEvent("reasoning", data.content);
      case "tool.execution_complete": {
        const id = asNonBlank(data.toolCallId);
        if (id === null) return [];
        const tool = { name: null, call: key.call(this.#session, id), input: null, isError: data.success === false };
        return [{ ...base, kind: "toolResult", text: resultText(event), tool }];
      }
      case "session.error":
        return textEvent("error", data.message);
      case "session.compaction_complete":
        return textEvent("compaction", asNonBlank(data.summaryContent) ?? "Conversation compacted");
      case "abort":
        return textEvent("note", `Interrupted: ${asText(data.reason) ?? "no reason given"}`);
      case "session.warning":
      case "session.info":
        return textEvent("note", data.message);
      case "system.notification":
        return textEvent("note", data.content);
      default:
        return [];
    }
  }

  #toolOf({ id, name, args }: ToolRequest): NonNullable<EventDraft["tool"]> {
    return { name, call: key.call(this.#session, id), input: isTooDeep(args) ? null : args, isError: false };
  }

  /** True at the first call for this name. */
  #once(what: string): boolean {
    const isNew = !this.#stated.has(what);
    this.#stated.add(what);
    return isNew;
  }
}
