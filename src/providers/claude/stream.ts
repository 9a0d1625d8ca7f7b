import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { LifecycleState } from "../../core/facts/observation.ts";
import { NO_AMOUNTS } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { plural } from "../../core/tools/format.ts";
import { asAmount, asList, asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { AT_WORK, type LiveReader, type Request, turnEnded } from "../kit/live-stream.ts";
import { Conversation, type ConversationMemory } from "./conversation.ts";
import { workflowAgents } from "./documents.ts";
import { eventsOf } from "./events.ts";
import * as key from "./keys.ts";
import { isNotification } from "./notification.ts";
import { readUserText } from "./prompt.ts";
import { keysOf, type Row, readRow, textOf } from "./rows.ts";
import { AGENT_TOOLS, reportedUsage } from "./spawns.ts";
import { type PrintedUsage, printedTotal, printedUsage } from "./totals.ts";

interface Memory {
  readonly conversation: ConversationMemory;
  readonly tasks: readonly (readonly [string, string])[];
  readonly messages: readonly string[];
  readonly agents: readonly string[];
  readonly begun: readonly string[];
  readonly ended: readonly AgentKey[];
  readonly answered: readonly string[];
  readonly used: readonly (readonly [AgentKey, PrintedUsage])[];
}

/** The states of a spawn call that has returned with the agent's result. */
const ENDED: ReadonlySet<unknown> = new Set(["completed", "forked"]);

const ANSWERS: ReadonlySet<unknown> = new Set(["control_response", "control_cancel_request"]);

/** The state is `killed` in `task_updated`, and `stopped` in `task_notification`. */
const STATES: ReadonlyMap<string, LifecycleState> = new Map(
  Object.entries({ completed: "completed", failed: "errored", killed: "shutdown", stopped: "shutdown" } as const),
);

/**
 * Reads `--output-format stream-json`: messages as in the transcript, with the same ids, and task states, which
 * transcripts contain only later.
 */
export class ClaudeStream implements LiveReader {
  readonly #conversation: Conversation;
  /** The agent that each call spawned. */
  readonly #tasks: Map<string, string>;
  /** Calls that sent a message to an agent instead of spawning one. */
  readonly #messages: Set<string>;
  /** Tasks that are agents, not shells or workflows. */
  readonly #agents: Set<string>;
  /** Those of them that began, according to a start, a message or an end; a list of tasks may come before. */
  readonly #begun: Set<string>;
  /** Threads whose last turn has ended. */
  readonly #ended: Set<AgentKey>;
  /** Agents whose last message is a text. */
  readonly #answered: Set<string>;
  /** What the process of each thread has used so far, from its first line on. */
  readonly #used: Map<AgentKey, PrintedUsage>;

  constructor(saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#conversation = new Conversation({ statesTurns: true }, memory?.conversation);
    this.#tasks = new Map(memory?.tasks);
    this.#messages = new Set(memory?.messages);
    this.#agents = new Set(memory?.agents);
    this.#begun = new Set(memory?.begun);
    this.#ended = new Set(memory?.ended);
    this.#answered = new Set(memory?.answered);
    this.#used = new Map(memory?.used);
  }

  save(): Memory {
    return {
      conversation: this.#conversation.save(),
      tasks: [...this.#tasks],
      messages: [...this.#messages],
      agents: [...this.#agents],
      begun: [...this.#begun],
      ended: [...this.#ended],
      answered: [...this.#answered],
      used: [...this.#used],
    };
  }

  threadIn(line: JsonObject): AgentKey | null {
    const session = asNonBlank(line.session_id);
    return session === null ? null : key.thread(session);
  }

  /** A spawn call and its result identify an agent even if no line names the session. */
  unassignedIn(line: JsonObject): AgentKey | null {
    const isResult = line.type === "user" && asNonBlank(asObject(line.tool_use_result)?.agentId) !== null;
    return isResult || (line.type === "assistant" && spawnsIn(line)) ? key.UNASSIGNED : null;
  }

  timeIn = (line: JsonObject) => asTime(line.timestamp);

  /** A permission request of a run that retinue controls, and its answer or withdrawal. */
  requestIn(line: JsonObject, thread: AgentKey): Request | null {
    const body = line.type === "control_request" ? asObject(line.request) : null;
    const id = asNonBlank(line.request_id) ?? asNonBlank(asObject(line.response)?.request_id);
    if (id === null || (body === null && !ANSWERS.has(line.type))) return null;
    if (body === null) return { id, waits: null };
    if (body.subtype !== "can_use_tool") return null;
    const [agentId, call] = [asNonBlank(body.agent_id), asNonBlank(body.tool_use_id)];
    const session = key.sessionOf(thread);
    return {
      id,
      waits: {
        type: "waits",
        agent: agentId === null ? thread : key.agent(session, agentId),
        for: "permission",
        says: asNonBlank(body.tool_name) ?? "a tool",
        ...(call === null ? {} : { call: key.call(session, call) }),
      },
    };
  }

  read(out: FindingsOf, line: JsonObject, thread: AgentKey, at: number | null) {
    // Later lines may lack fields of `init`.
    const session = key.sessionOf(thread);
    if (!this.#used.has(thread))
      this.#used.set(thread, { process: asNonBlank(line.uuid) ?? session, byModel: [], own: NO_AMOUNTS });
    if (session === key.NO_SESSION) out.addOfFile({ type: "agent-described", agent: thread, kind: "unassigned" });
    if (line.type === "assistant" || line.type === "user") return this.#readMessage(out, line, session, at);
    if (line.type === "result") return this.#readResult(out, line, thread);
    if (line.type !== "system") return;
    switch (line.subtype) {
      case "init":
        this.#beginTurn(out, thread);
        return readInit(out, line, thread);
      case "task_started":
        return this.#readStart(out, line, session);
      case "task_progress":
        return this.#readProgress(out, line, session);
      case "task_updated":
        return readUpdate(out, line, session);
      case "task_notification":
        return this.#readEnd(out, line, session);
      case "model_refusal_fallback":
        return this.#readMessage(out, line, session, at);
      case "background_tasks_changed":
        for (const task of asList(line.tasks)) this.#readStart(out, asObject(task) ?? {}, session);
    }
  }

  events(line: JsonObject, thread: AgentKey, at: number | null): readonly EventDraft[] {
    const session = key.sessionOf(thread);
    if (line.type === "assistant" || line.type === "user" || line.subtype === "model_refusal_fallback") {
      const speaker = this.#speakerOf(line, session);
      return speaker === null ? [] : eventsOf(rowOf(line, session, at), speaker, session);
    }
    const task = asNonBlank(line.task_id);
    const words =
      line.subtype === "task_progress" && task !== null && this.#agents.has(task) ? asNonBlank(line.description) : null;
    if (words !== null && task !== null) return [note(key.agent(session, task), session, line, at, words)];
    const error = line.type === "result" && line.is_error === true ? resultText(line) : null;
    return error === null ? [] : [{ ...note(thread, session, line, at, error), kind: "error" }];
  }

  /** Up to 2.1.290 a message names only the call. If the call's agent is not known yet, the transcript will name it. */
  #speakerOf(line: JsonObject, session: string): AgentKey | null {
    const call = asNonBlank(line.parent_tool_use_id);
    if (call === null) return key.thread(session);
    const agent = asNonBlank(line.agent_id) ?? this.#tasks.get(call);
    return agent === undefined ? null : key.agent(session, agent);
  }

  #readMessage(out: FindingsOf, line: JsonObject, session: string, at: number | null) {
    const speaker = this.#speakerOf(line, session);
    if (speaker === null) return;
    const row = rowOf(line, session, at);
    for (const block of row.blocks)
      if (block.is === "tool-use" && block.name === "SendMessage") this.#messages.add(block.id);
    if (speaker === key.thread(session)) this.#beginTurn(out, speaker);
    const part = out.part({ speaker, at: row.at, keys: keysOf(row, session) });
    if (speaker !== key.thread(session)) this.#introduce(part, line, speaker, session);
    this.#conversation.read(part, row, session);
    const agent = partsOf(speaker).agent;
    if (agent !== null && row.type === "assistant") {
      if (row.blocks.some((block) => block.is === "tool-use")) this.#answered.delete(agent);
      else if (textOf(row) !== "") this.#answered.add(agent);
    }
    const details = asObject(line.tool_use_result);
    const returned = ENDED.has(details?.status) ? asNonBlank(details?.agentId) : null;
    if (returned !== null) this.#warnOfLostText(part, returned, session);
    if (row.type !== "user" || row.blocks.some((b) => b.is === "tool-result") || line.isSynthetic === true) return;
    const words = readUserText(textOf(row));
    if (words.is === "prompt" && words.text !== "" && !isNotification(words.text))
      part.add({ type: "agent-described", agent: speaker, prompt: words.text });
  }

  /** The end of a turn says nothing about the next one, which may break off, in the same millisecond. */
  #beginTurn(out: FindingsOf, thread: AgentKey) {
    if (this.#ended.delete(thread)) out.add(lifecycle(thread, "revived", "its stream begins another turn"));
  }

  #readResult(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    this.#ended.add(thread);
    const used = printedUsage(line, this.#used.get(thread) ?? { process: "", byModel: [], own: NO_AMOUNTS });
    this.#used.set(thread, used);
    const total = printedTotal(used);
    if (total !== null) out.add(total);
    const spawned = asAmount(asObject(line.subagent_stats)?.spawned) ?? 0;
    if (spawned > this.#agents.size) {
      const warning = `the product reports ${plural(spawned, "agent")}, of which its output names ${this.#agents.size}`;
      out.add({ type: "agent-described", agent: thread, warning });
    }
    const isError = line.is_error === true || asText(line.subtype)?.startsWith("error") === true;
    const says = `its stream ends its turn with ${asText(line.subtype) ?? "a result"}${isError ? `: ${resultText(line)}` : ""}`;
    out.add(turnEnded(thread, isError ? "errored" : "completed", says, isError ? null : asNonBlank(line.result)));
  }

  /** Without `--forward-subagent-text` the last response of an agent is not printed, because it calls no tool. */
  #warnOfLostText(out: FindingsOf, agent: string, session: string) {
    if (this.#answered.has(agent)) return;
    const warning =
      "its last response is not in the product's output, which --forward-subagent-text would print: tokens and cost are too low";
    out.add({ type: "agent-described", agent: key.agent(session, agent), warning });
  }

  #introduce(out: FindingsOf, line: JsonObject, agent: AgentKey, session: string) {
    const call = asNonBlank(line.parent_tool_use_id);
    if (call === null || this.#tasks.has(call)) return;
    const id = asNonBlank(line.agent_id) ?? "";
    this.#tasks.set(call, id);
    this.#agents.add(id);
    this.#begun.add(id);
    out.add({ type: "agent-described", agent, ...described(line.subagent_type, line.task_description) });
    out.add(spawnedBy(call, id, session, "message.agent_id"));
  }

  #readStart(out: FindingsOf, line: JsonObject, session: string) {
    const task = asNonBlank(line.task_id);
    if (task === null || line.task_type !== "local_agent") return;
    const call = asNonBlank(line.tool_use_id);
    const agent = key.agent(session, task);
    const isStart = line.subtype === "task_started";
    // A list of tasks repeats those that run, and omits parents that have ended.
    if (!isStart && this.#agents.has(task)) return;
    const hasBegun = this.#begun.has(task);
    this.#agents.add(task);
    if (isStart) this.#begun.add(task);
    const background = typeof line.is_backgrounded === "boolean" ? { background: line.is_backgrounded } : {};
    const prompt = asNonBlank(line.prompt);
    out.add({
      type: "agent-described",
      agent,
      ...described(line.subagent_type, line.description),
      ...(prompt === null ? {} : { prompt }),
      ...background,
    });
    if (isStart) out.part({ speaker: agent }).add(AT_WORK);
    const parent = asNonBlank(line.parent_task_id);
    const named = (of: AgentKey, rule: string, says: string) =>
      out.add({ type: "parent-named", child: agent, parent: of, rule, source: "protocol", confidence: 1, says });
    if (parent !== null)
      named(
        key.agent(session, parent),
        "task_started.parent_task_id",
        `the product names agent ${parent} as its parent`,
      );
    else if (line.spawn_depth === 1)
      named(key.thread(session), "task_started.spawn_depth", "the product reports depth 1 and names no parent agent");
    else if (typeof line.spawn_depth === "number" && line.spawn_depth > 1)
      out.add({ type: "agent-described", agent, depth: line.spawn_depth });
    if (call === null) return;
    if (this.#messages.has(call) || (hasBegun && this.#tasks.get(call) !== task))
      return out.add(lifecycle(agent, "revived", "a message revived it"));
    this.#tasks.set(call, task);
    out.add(spawnedBy(call, task, session, "task_started.tool_use_id"));
  }

  #readProgress(out: FindingsOf, line: JsonObject, session: string) {
    const [task, call] = [asNonBlank(line.task_id), asNonBlank(line.tool_use_id)];
    if (task !== null && this.#agents.has(task)) out.part({ speaker: key.agent(session, task) }).add(AT_WORK);
    workflowAgents(out, line.workflow_progress, session, call);
  }

  #readEnd(out: FindingsOf, line: JsonObject, session: string) {
    const [task, call, summary] = [asNonBlank(line.task_id), asNonBlank(line.tool_use_id), asNonBlank(line.summary)];
    const state = STATES.get(asText(line.status) ?? "");
    if (task === null || state === undefined) return;
    // Up to 2.1.42 there is no start message.
    if (/^Agent\b/.test(summary ?? "")) this.#agents.add(task);
    if (!this.#agents.has(task)) return;
    this.#begun.add(task);
    if (call !== null && !this.#messages.has(call)) out.add(spawnedBy(call, task, session, "task_notification"));
    if (state === "completed") this.#warnOfLostText(out, task, session);
    const result = state === "completed" && !/^Agent "/.test(summary ?? "") ? summary : null;
    const reported = reportedUsage(line.usage);
    out.add({
      ...lifecycle(key.agent(session, task), state, `the product reports that it ${line.status}`),
      result,
      ...(reported === null ? {} : { reported }),
    });
  }
}

/**
 * Whether Claude Code printed a line. Qwen Code, Droid, Letta and Cursor print similar lines but begin differently:
 * `permission_mode` instead of `permissionMode`, or no list of tools.
 */
export function isPrinted(line: JsonObject): boolean | null {
  // A record of a transcript.
  if ("sessionId" in line || "isSidechain" in line) return null;
  const hasSession = asNonBlank(line.session_id) !== null;
  switch (line.type) {
    case "system":
      if (line.subtype !== "init")
        return hasSession && /^(hook_|task_|background_tasks_changed$|api_retry$)/.test(asText(line.subtype) ?? "")
          ? true
          : null;
      if (asNonBlank(line.claude_code_version) !== null) return true;
      if ("permission_mode" in line || "conversation_id" in line || "qwen_code_version" in line) return false;
      return "apiKeySource" in line ? Array.isArray(line.tools) : null;
    case "assistant":
      return isMessage(line) && (hasSession || "parent_tool_use_id" in line || spawnsIn(line)) ? true : null;
    case "user":
      return isMessage(line) &&
        (hasSession || "parent_tool_use_id" in line || asNonBlank(asObject(line.tool_use_result)?.agentId) !== null)
        ? true
        : null;
    case "result":
      return hasSession && asNonBlank(line.subtype) !== null && "num_turns" in line ? true : null;
    default:
      return null;
  }
}

const isMessage = (line: JsonObject) => asObject(line.message)?.content !== undefined;
const spawnsIn = (line: JsonObject) =>
  readRow(line).blocks.some((block) => block.is === "tool-use" && AGENT_TOOLS.has(block.name));

/** The record of a line, as the transcript has it. */
function rowOf(line: JsonObject, session: string, at: number | null): Row {
  const { session_id: _, tool_use_result: toolUseResult, request_id: requestId, ...rest } = line;
  return readRow({ ...rest, sessionId: session, timestamp: line.timestamp ?? at, toolUseResult, requestId });
}

function described(type: unknown, description: unknown) {
  const [agentType, words] = [asNonBlank(type), asNonBlank(description)];
  return { ...(agentType === null ? {} : { agentType }), ...(words === null ? {} : { description: words }) };
}

function readInit(out: FindingsOf, line: JsonObject, thread: AgentKey) {
  const [cwd, productVersion] = [asNonBlank(line.cwd), asNonBlank(line.claude_code_version)];
  out.add({
    type: "agent-described",
    agent: thread,
    ...(cwd === null ? {} : { cwd }),
    ...(productVersion === null ? {} : { productVersion }),
  });
  out.add(AT_WORK);
}

function readUpdate(out: FindingsOf, line: JsonObject, session: string) {
  const [task, patch] = [asNonBlank(line.task_id), asObject(line.patch)];
  if (task === null || patch === null) return;
  const agent = key.agent(session, task);
  const state = STATES.get(asText(patch.status) ?? "");
  const error = asNonBlank(patch.error);
  if (state !== undefined)
    out.addAt(
      asTime(patch.end_time),
      lifecycle(agent, state, `the product reports ${patch.status}${error === null ? "" : `: ${error}`}`),
    );
}

const resultText = (line: JsonObject) =>
  (asNonBlank(line.result) ??
    asList(line.errors)
      .flatMap((e) => asNonBlank(e) ?? [])
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

function note(speaker: AgentKey, session: string, line: JsonObject, at: number | null, text: string): EventDraft {
  const id = asNonBlank(line.uuid);
  return {
    speaker,
    keys: id === null ? [] : [key.record(session, id)],
    at,
    kind: "note",
    text,
    tool: null,
    response: null,
  };
}
