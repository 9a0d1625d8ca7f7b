import type { EventDraft } from "../../core/event.ts";
import type { FindingsOf } from "../../core/findings.ts";
import type { AgentKey } from "../../core/ids.ts";
import { asList, asObject, asText, asTime, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, type LiveReader, turnEnded } from "../../core/live-stream.ts";
import type { LifecycleState } from "../../core/observation.ts";
import { Conversation, type ConversationMemory } from "./conversation.ts";
import { workflowAgents } from "./documents.ts";
import { eventsOf } from "./events.ts";
import * as key from "./keys.ts";
import { isNotification } from "./notification.ts";
import { readUserText } from "./prompt.ts";
import { keysOf, type Row, readRow, textOf } from "./rows.ts";
import { AGENT_TOOLS, reportedUsage } from "./spawns.ts";

interface Memory {
  readonly conversation: ConversationMemory;
  readonly tasks: readonly (readonly [string, string])[];
  readonly messages: readonly string[];
  readonly agents: readonly string[];
}

/** `task_updated` says killed, `task_notification` stopped. */
const STATES: ReadonlyMap<string, LifecycleState> = new Map(
  Object.entries({ completed: "completed", failed: "errored", killed: "shutdown", stopped: "shutdown" } as const),
);

/** What `--output-format stream-json` prints: messages as in the transcript, with the same ids, and what becomes of tasks, which no transcript tells so early. */
export class ClaudeStream implements LiveReader {
  readonly #conversation: Conversation;
  /** The agent that a call made. */
  readonly #tasks: Map<string, string>;
  /** Calls that wrote to an agent instead of making one. */
  readonly #messages: Set<string>;
  /** Tasks that are agents, and no shells or workflows. */
  readonly #agents: Set<string>;

  constructor(saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#conversation = new Conversation(memory?.conversation);
    this.#tasks = new Map(memory?.tasks);
    this.#messages = new Set(memory?.messages);
    this.#agents = new Set(memory?.agents);
  }

  save(): Memory {
    return { conversation: this.#conversation.save(), tasks: [...this.#tasks], messages: [...this.#messages], agents: [...this.#agents] };
  }

  threadIn(said: JsonObject): AgentKey | null {
    const session = asWords(said.session_id);
    return session === null ? null : key.thread(session);
  }

  /** A spawn call and its result tell of an agent even where nothing names the session. */
  unassignedIn(said: JsonObject): AgentKey | null {
    const isResult = said.type === "user" && asWords(asObject(said.tool_use_result)?.agentId) !== null;
    return isResult || (said.type === "assistant" && spawnsIn(said)) ? key.UNASSIGNED : null;
  }

  timeIn = (said: JsonObject) => asTime(said.timestamp);

  read(out: FindingsOf, said: JsonObject, thread: AgentKey, at: number | null) {
    // Later lines may lack what `init` said once.
    const session = key.sessionOf(thread);
    if (session === key.NO_SESSION) out.addOfFile({ type: "agent-described", agent: thread, kind: "unassigned" });
    if (said.type === "assistant" || said.type === "user") return this.#readMessage(out, said, session, at);
    if (said.type === "result") return readResult(out, said, thread);
    if (said.type !== "system") return;
    switch (said.subtype) {
      case "init":
        return readInit(out, said, thread);
      case "task_started":
        return this.#readStart(out, said, session);
      case "task_progress":
        return this.#readProgress(out, said, session);
      case "task_updated":
        return readUpdate(out, said, session);
      case "task_notification":
        return this.#readEnd(out, said, session);
      case "background_tasks_changed":
        for (const task of asList(said.tasks)) this.#readStart(out, asObject(task) ?? {}, session);
    }
  }

  events(said: JsonObject, thread: AgentKey, at: number | null): readonly EventDraft[] {
    const session = key.sessionOf(thread);
    if (said.type === "assistant" || said.type === "user") {
      const speaker = this.#speakerOf(said, session);
      return speaker === null ? [] : eventsOf(rowOf(said, session, at), speaker, session);
    }
    const task = asWords(said.task_id);
    const words = said.subtype === "task_progress" && task !== null && this.#agents.has(task) ? asWords(said.description) : null;
    if (words !== null && task !== null) return [note(key.agent(session, task), session, said, at, words)];
    const error = said.type === "result" && said.is_error === true ? resultText(said) : null;
    return error === null ? [] : [{ ...note(thread, session, said, at, error), kind: "error" }];
  }

  /** Up to 2.1.290 a message names only the call; where nothing told yet whom that call made, the transcript will say it. */
  #speakerOf(said: JsonObject, session: string): AgentKey | null {
    const call = asWords(said.parent_tool_use_id);
    if (call === null) return key.thread(session);
    const agent = asWords(said.agent_id) ?? this.#tasks.get(call);
    return agent === undefined ? null : key.agent(session, agent);
  }

  #readMessage(out: FindingsOf, said: JsonObject, session: string, at: number | null) {
    const speaker = this.#speakerOf(said, session);
    if (speaker === null) return;
    const row = rowOf(said, session, at);
    for (const block of row.blocks) if (block.is === "tool-use" && block.name === "SendMessage") this.#messages.add(block.id);
    const part = out.part({ speaker, at: row.at, keys: keysOf(row, session) });
    if (speaker !== key.thread(session)) this.#introduce(part, said, speaker, session);
    this.#conversation.read(part, row, session);
    if (row.type !== "user" || row.blocks.some((b) => b.is === "tool-result") || said.isSynthetic === true) return;
    const words = readUserText(textOf(row));
    if (words.is === "prompt" && words.text !== "" && !isNotification(words.text)) part.add({ type: "agent-described", agent: speaker, prompt: words.text });
  }

  #introduce(out: FindingsOf, said: JsonObject, agent: AgentKey, session: string) {
    const call = asWords(said.parent_tool_use_id);
    if (call === null || this.#tasks.has(call)) return;
    const id = asWords(said.agent_id) ?? "";
    this.#tasks.set(call, id);
    this.#agents.add(id);
    out.add({ type: "agent-described", agent, ...described(said.subagent_type, said.task_description) });
    out.add(spawnedBy(call, id, session, "message.agent_id"));
  }

  #readStart(out: FindingsOf, said: JsonObject, session: string) {
    const task = asWords(said.task_id);
    if (task === null || said.task_type !== "local_agent") return;
    const call = asWords(said.tool_use_id);
    const agent = key.agent(session, task);
    const isKnown = this.#agents.has(task);
    this.#agents.add(task);
    // A level, not an event: it repeats what runs, and forgets parents that ended.
    if (said.subtype !== "task_started" && isKnown) return;
    const background = typeof said.is_backgrounded === "boolean" ? { background: said.is_backgrounded } : {};
    const prompt = asWords(said.prompt);
    out.add({ type: "agent-described", agent, ...described(said.subagent_type, said.description), ...(prompt === null ? {} : { prompt }), ...background });
    if (said.subtype === "task_started") out.part({ speaker: agent }).add(AT_WORK);
    const parent = asWords(said.parent_task_id);
    const named = (of: AgentKey, rule: string, says: string) =>
      out.add({ type: "parent-named", child: agent, parent: of, rule, source: "protocol", confidence: 1, says });
    if (parent !== null) named(key.agent(session, parent), "task_started.parent_task_id", `the product names agent ${parent} as its parent`);
    else if (said.spawn_depth === 1) named(key.thread(session), "task_started.spawn_depth", "the product says depth 1 and names no parent agent");
    if (call === null) return;
    if (this.#messages.has(call) || (isKnown && this.#tasks.get(call) !== task)) return out.add(lifecycle(agent, "revived", "a message set it to work again"));
    this.#tasks.set(call, task);
    out.add(spawnedBy(call, task, session, "task_started.tool_use_id"));
  }

  #readProgress(out: FindingsOf, said: JsonObject, session: string) {
    const [task, call] = [asWords(said.task_id), asWords(said.tool_use_id)];
    if (task !== null && this.#agents.has(task)) out.part({ speaker: key.agent(session, task) }).add(AT_WORK);
    workflowAgents(out, said.workflow_progress, session, call);
  }

  #readEnd(out: FindingsOf, said: JsonObject, session: string) {
    const [task, call, summary] = [asWords(said.task_id), asWords(said.tool_use_id), asWords(said.summary)];
    const state = STATES.get(asText(said.status) ?? "");
    if (task === null || state === undefined) return;
    // Up to 2.1.42 nothing says that it began.
    if (/^Agent\b/.test(summary ?? "")) this.#agents.add(task);
    if (!this.#agents.has(task)) return;
    if (call !== null && !this.#messages.has(call)) out.add(spawnedBy(call, task, session, "task_notification"));
    const result = state === "completed" && !/^Agent "/.test(summary ?? "") ? summary : null;
    const reported = reportedUsage(said.usage);
    out.add({ ...lifecycle(key.agent(session, task), state, `the product says that it ${said.status}`), result, ...(reported === null ? {} : { reported }) });
  }
}

/**
 * Whether Claude Code printed a line. Qwen Code, Droid, Letta and Cursor print lines of the same shape, but introduce themselves otherwise:
 * `permission_mode` instead of `permissionMode`, or no list of tools.
 */
export function isPrinted(said: JsonObject): boolean | null {
  // A record of a transcript.
  if ("sessionId" in said || "isSidechain" in said) return null;
  const hasSession = asWords(said.session_id) !== null;
  switch (said.type) {
    case "system":
      if (said.subtype !== "init") return hasSession && /^(hook_|task_|background_tasks_changed$|api_retry$)/.test(asText(said.subtype) ?? "") ? true : null;
      if (asWords(said.claude_code_version) !== null) return true;
      if ("permission_mode" in said || "conversation_id" in said || "qwen_code_version" in said) return false;
      return "apiKeySource" in said ? Array.isArray(said.tools) : null;
    case "assistant":
      return isMessage(said) && (hasSession || "parent_tool_use_id" in said || spawnsIn(said)) ? true : null;
    case "user":
      return isMessage(said) && (hasSession || "parent_tool_use_id" in said || asWords(asObject(said.tool_use_result)?.agentId) !== null) ? true : null;
    case "result":
      return hasSession && asWords(said.subtype) !== null && "num_turns" in said ? true : null;
    default:
      return null;
  }
}

const isMessage = (said: JsonObject) => asObject(said.message)?.content !== undefined;
const spawnsIn = (said: JsonObject) => readRow(said).blocks.some((block) => block.is === "tool-use" && AGENT_TOOLS.has(block.name));

/** The same record as it stands in the transcript. */
function rowOf(said: JsonObject, session: string, at: number | null): Row {
  const { session_id: _, tool_use_result: toolUseResult, request_id: requestId, ...rest } = said;
  return readRow({ ...rest, sessionId: session, timestamp: said.timestamp ?? at, toolUseResult, requestId });
}

function described(type: unknown, description: unknown) {
  const [agentType, words] = [asWords(type), asWords(description)];
  return { ...(agentType === null ? {} : { agentType }), ...(words === null ? {} : { description: words }) };
}

function readInit(out: FindingsOf, said: JsonObject, thread: AgentKey) {
  const [cwd, productVersion] = [asWords(said.cwd), asWords(said.claude_code_version)];
  out.add({ type: "agent-described", agent: thread, ...(cwd === null ? {} : { cwd }), ...(productVersion === null ? {} : { productVersion }) });
  out.add(AT_WORK);
}

function readUpdate(out: FindingsOf, said: JsonObject, session: string) {
  const [task, patch] = [asWords(said.task_id), asObject(said.patch)];
  if (task === null || patch === null) return;
  const agent = key.agent(session, task);
  const state = STATES.get(asText(patch.status) ?? "");
  const error = asWords(patch.error);
  if (state !== undefined) out.addAt(asTime(patch.end_time), lifecycle(agent, state, `the product says ${patch.status}${error === null ? "" : `: ${error}`}`));
}

function readResult(out: FindingsOf, said: JsonObject, thread: AgentKey) {
  const isError = said.is_error === true || asText(said.subtype)?.startsWith("error") === true;
  const says = `its stream ends its turn with ${asText(said.subtype) ?? "a result"}${isError ? `: ${resultText(said)}` : ""}`;
  out.add(turnEnded(thread, isError ? "errored" : "completed", says, isError ? null : asWords(said.result)));
}

const resultText = (said: JsonObject) =>
  (asWords(said.result) ??
    asList(said.errors)
      .flatMap((e) => asWords(e) ?? [])
      .join("; ")) ||
  "an error";

const lifecycle = (of: AgentKey, state: LifecycleState, says: string) =>
  ({ type: "lifecycle", of, state, source: "protocol", says: says.split("\n")[0] ?? "", result: null }) as const;

const spawnedBy = (call: string, agent: string, session: string, rule: string) =>
  ({
    type: "call-spawned",
    call: key.call(session, call),
    child: key.agent(session, agent),
    rule,
    source: "protocol",
    says: `the product's stream names call ${call} and agent ${agent}`,
  }) as const;

function note(speaker: AgentKey, session: string, said: JsonObject, at: number | null, text: string): EventDraft {
  const id = asWords(said.uuid);
  return { speaker, keys: id === null ? [] : [key.record(session, id)], at, kind: "note", text, tool: null, response: null };
}
