import type { AgentKey } from "../../core/facts/ids.ts";
import type { Lifecycle } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asList, asNonBlank, asObject, type JsonObject, parseJson } from "../../core/tools/json.ts";
import * as key from "./keys.ts";
import { type Mail, notificationsIn } from "./mail.ts";
import { argumentsOf, itemOf, type Row, readable } from "./rows.ts";
import { type AgentState, stateIn } from "./status.ts";

interface Memory {
  /** Calls of sub-agent tools without a result, by id. */
  readonly open: readonly (readonly [string, OpenCall])[];
  readonly spawns: readonly string[];
  /** The agent of a path: its thread, else the call that requested it. */
  readonly paths: readonly (readonly [string, Child])[];
  readonly mail: readonly string[];
}

interface OpenCall {
  readonly tool: string;
  readonly target: string | null;
}

interface SpawnInput {
  readonly prompt?: string | null;
  readonly type?: string | null;
  readonly task?: string | null;
}

type Child = { readonly thread: string } | { readonly call: string };

const TOOLS = new Set([
  "spawn_agent",
  "wait",
  "wait_agent",
  "send_input",
  "close_agent",
  "resume_agent",
  "followup_task",
  "assign_task",
  "interrupt_agent",
]);
/** Tools that send a message to an existing agent. */
const MESSAGES = new Set(["send_input", "send_message", "followup_task", "assign_task"]);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const asThread = (value: unknown): string | null => {
  const id = asNonBlank(value);
  return id !== null && UUID.test(id) ? id.toLowerCase() : null;
};

/** The product's own record of a sub-agent tool call, under the names of all versions. */
interface Noted {
  readonly tool: string;
  readonly call: string;
  readonly receivers: readonly { readonly thread: string; readonly role: string | null; readonly state: unknown }[];
  readonly prompt: string | null;
}

/** The result of a call that a hook blocked, with the hook's reason (0.166). */
const BY_HOOK = /^Tool call blocked by PreToolUse hook: ([\s\S]*?)\.? Tool: \S+$/;

/** Reads what a thread's records state about its children: spawn calls, ids, ends. */
export class Collab {
  readonly #thread: string;
  readonly #open: Map<string, OpenCall>;
  readonly #spawns: Set<string>;
  readonly #paths: Map<string, Child>;
  /** Calls whose outcome the product has recorded. */
  readonly #recorded: Set<string>;

  constructor(thread: string, saved?: unknown) {
    const memory = saved as Memory | undefined;
    this.#thread = thread;
    this.#open = new Map(memory?.open);
    this.#spawns = new Set(memory?.spawns);
    this.#paths = new Map(memory?.paths);
    this.#recorded = new Set(memory?.mail);
  }

  save = (): Memory => ({
    open: [...this.#open],
    spawns: [...this.#spawns],
    paths: [...this.#paths],
    mail: [...this.#recorded],
  });

  /** A tool call; `path` is the calling agent's own. Tools of MCP servers may have the same names. */
  called(out: FindingsOf, payload: JsonObject, path: string): void {
    const [name, id, namespace] = [
      asNonBlank(payload.name),
      asNonBlank(payload.call_id),
      asNonBlank(payload.namespace),
    ];
    if (name === null || id === null || namespace?.startsWith("mcp__")) return;
    const input = asObject(argumentsOf(payload.arguments));
    const to = MESSAGES.has(name) ? (asNonBlank(input?.target) ?? asNonBlank(input?.id)) : null;
    if (to !== null) out.add({ type: "message-sent", to: { named: to } });
    if (!TOOLS.has(name)) return;
    this.#open.set(id, { tool: name, target: asThread(input?.target) ?? asThread(input?.id) });
    if (name === "spawn_agent")
      this.#spawn(
        out,
        id,
        { prompt: promptIn(input), type: asNonBlank(input?.agent_type), task: asNonBlank(input?.task_name) },
        path,
      );
  }

  #spawn(out: FindingsOf, id: string, { prompt, type, task }: SpawnInput = {}, path = "") {
    this.#spawns.add(id);
    const offers = [
      ...(task == null ? [] : [key.pathMatch(this.#thread, `${path}/${task}`)]),
      ...(prompt == null ? [] : [key.promptMatch(this.#thread, prompt)]),
    ];
    out.add({
      type: "spawn-called",
      call: key.call(this.#thread, id),
      tool: "spawn_agent",
      makes: "one",
      prompt: prompt ?? null,
      agentType: type ?? null,
      description: null,
      name: task ?? null,
      offers,
    });
  }

  /** A tool result. In files up to 0.143 it is the only record of the outcome. */
  toolResult(out: FindingsOf, id: string, text: string): void {
    const open = this.#open.get(id);
    if (open === undefined) return;
    this.#open.delete(id);
    const json = asObject(parseJson(text)?.value);
    if (open.tool === "spawn_agent") this.#spawned(out, id, json, text);
    else if (this.#recorded.delete(id)) return;
    else if (open.tool === "wait" || open.tool === "wait_agent")
      for (const [thread, status] of Object.entries(asObject(json?.status) ?? {}))
        this.#state(out, asThread(thread), stateIn(status), "waited for it");
    else if (open.tool === "close_agent" && json !== null) this.#closed(out, open.target);
    else if ((open.tool === "resume_agent" || open.tool === "send_input") && json !== null)
      this.#revived(out, open.target, open.tool);
  }

  #spawned(out: FindingsOf, id: string, json: JsonObject | null, text: string) {
    const [thread, path] = [asThread(json?.agent_id), asNonBlank(json?.task_name)];
    if (thread !== null)
      return this.#made(
        out,
        id,
        thread,
        "spawn_agent output",
        `the result of spawn_agent ${id} names thread ${thread}`,
      );
    if (path !== null) {
      if (!this.#paths.has(path)) this.#paths.set(path, { call: id });
      return out.add({
        type: "call-offers",
        call: key.call(this.#thread, id),
        match: key.pathMatch(this.#thread, path),
      });
    }
    // Too deep, too many, no such tool, refused by a hook: an error text instead of an agent.
    out.add({ type: "call-refused", call: key.call(this.#thread, id), says: text.replace(BY_HOOK, "$1") });
  }

  #made(out: FindingsOf, id: string, thread: string, rule: string, says: string) {
    out.add({
      type: "call-spawned",
      call: key.call(this.#thread, id),
      child: key.thread(thread),
      rule,
      source: "parent_rollout",
      says,
    });
  }

  /** The product's own record of a sub-agent tool; the only one for calls from JavaScript (code mode). */
  toolRecord(out: FindingsOf, row: Row): void {
    const noted = notedIn(row);
    if (noted !== null) this.#note(out, noted);
    const activity = activityIn(row);
    if (activity !== null) this.#activity(out, activity);
  }

  #note(out: FindingsOf, { tool, call, receivers, prompt }: Noted) {
    this.#recorded.add(call);
    for (const { thread, role, state } of receivers) {
      if (tool === "spawn_agent") {
        if (!this.#spawns.has(call)) this.#spawn(out, call, { prompt, type: role });
        this.#made(
          out,
          call,
          thread,
          "CollabAgentToolCall",
          `the record of spawn_agent ${call} names thread ${thread}`,
        );
      } else if (tool === "wait") this.#state(out, thread, stateIn(state), "waited for it");
      else if (tool === "close_agent") this.#closed(out, thread);
      else this.#revived(out, thread, tool);
    }
  }

  #activity(out: FindingsOf, { id, kind, thread, path }: Activity) {
    if (path !== null) this.#paths.set(path, { thread });
    const whose = path ?? `thread ${thread}`;
    switch (kind) {
      case "started":
        if (id === null) return;
        if (!this.#spawns.has(id)) this.#spawn(out, id);
        return this.#made(
          out,
          id,
          thread,
          "SubAgentActivity",
          `an activity record of spawn_agent ${id} reports that ${whose} started as thread ${thread}`,
        );
      case "interrupted":
        return this.#lifecycle(
          out,
          key.thread(thread),
          { state: "shutdown", result: null },
          "its parent interrupted it",
        );
      case "completed":
        return this.#lifecycle(
          out,
          key.thread(thread),
          { state: "completed", result: null },
          "its parent's records show that its turn completed",
        );
    }
  }

  /** A message from a child to this thread, or from the product about a child. */
  mail(out: FindingsOf, mail: Mail): void {
    if (mail.is !== "result" || mail.text === null) return;
    if (notificationsIn(mail.text).length > 0) {
      this.notified(out, mail.text);
      return;
    }
    const state: AgentState = mail.text.startsWith("Agent errored: ")
      ? { state: "errored", result: mail.text.slice("Agent errored: ".length) }
      : { state: "completed", result: mail.text };
    this.#state(out, mail.author, state, "got its final answer");
  }

  notified(out: FindingsOf, text: string): void {
    for (const { agent, status } of notificationsIn(text))
      this.#state(out, asThread(agent) ?? agent, stateIn(status), "was notified");
  }

  /** `agent` is a thread or a path. */
  #state(out: FindingsOf, agent: string | null, state: AgentState | null, how: string) {
    const child = agent === null ? undefined : agent.startsWith("/") ? this.#paths.get(agent) : { thread: agent };
    if (child === undefined || state === null) return;
    const of = "thread" in child ? key.thread(child.thread) : { call: key.call(this.#thread, child.call) };
    this.#lifecycle(out, of, state, `its parent ${how}: ${STATE_TEXT[state.state]}`);
  }

  #closed(out: FindingsOf, thread: string | null) {
    if (thread !== null)
      this.#lifecycle(out, key.thread(thread), { state: "shutdown", result: null }, "its parent closed it");
  }

  #revived(out: FindingsOf, thread: string | null, tool: string) {
    if (thread !== null)
      this.#lifecycle(
        out,
        key.thread(thread),
        { state: "revived", result: null },
        `its parent went on with it (${tool})`,
      );
  }

  #lifecycle(
    out: FindingsOf,
    of: AgentKey | Exclude<Lifecycle["of"], AgentKey>,
    { state, result }: AgentState,
    says: string,
  ) {
    out.add({ type: "lifecycle", of, state, source: "parent_rollout", says, result });
  }
}

const STATE_TEXT: Readonly<Record<AgentState["state"], string>> = {
  launched: "it began",
  revived: "it continues",
  completed: "it completed",
  errored: "it failed",
  shutdown: "it was shut down",
};

/** Tool calls that only wait for agents. */
export const awaits = ({ name, namespace }: JsonObject): { readonly awaitsAgents?: true } =>
  (name === "wait" || name === "wait_agent") && asNonBlank(namespace)?.startsWith("mcp__") !== true
    ? { awaitsAgents: true }
    : {};

/** v1 has a message or a list of items; v2 encrypts it. */
function promptIn(input: JsonObject | null): string | null {
  const items = asList(input?.items).flatMap((item) => asNonBlank(asObject(item)?.text) ?? []);
  return readable(input?.message) ?? (items.length > 0 ? items.join("\n") : null);
}

const EVENT_TOOLS: Readonly<Record<string, string>> = {
  "event_msg/collab_agent_spawn_end": "spawn_agent",
  "event_msg/collab_waiting_end": "wait",
  "event_msg/collab_close_end": "close_agent",
  "event_msg/collab_resume_end": "resume_agent",
  "event_msg/collab_agent_interaction_end": "send_input",
};

/** `CollabAgentToolCall` in paginated files; `collab_…_end` events in 0.102 to 0.136. */
function notedIn(row: Row): Noted | null {
  const item = itemOf(row);
  if (item?.type === "CollabAgentToolCall" && item.id !== null) {
    const roles = new Map(
      asList(item.json.receiver_agents).map(
        (a) => [asThread(asObject(a)?.thread_id), asNonBlank(asObject(a)?.agent_role)] as const,
      ),
    );
    const states = asObject(item.json.agents_states) ?? {};
    const threads = asList(item.json.receiver_thread_ids).flatMap((id) => asThread(id) ?? []);
    const receivers = threads.map((thread) => ({ thread, role: roles.get(thread) ?? null, state: states[thread] }));
    return { tool: asNonBlank(item.json.tool) ?? "", call: item.id, receivers, prompt: readable(item.json.prompt) };
  }
  const [tool, call] = [EVENT_TOOLS[row.type], asNonBlank(row.payload.call_id)];
  if (tool === undefined || call === null) return null;
  const { payload } = row;
  const one = asThread(payload.new_thread_id) ?? asThread(payload.receiver_thread_id);
  const many = Object.entries(asObject(payload.statuses) ?? {}).flatMap(([id, state]) => {
    const thread = asThread(id);
    return thread === null ? [] : [{ thread, role: null, state }];
  });
  const role = asNonBlank(payload.new_agent_role) ?? asNonBlank(payload.receiver_agent_role);
  return {
    tool,
    call,
    receivers: one === null ? many : [{ thread: one, role, state: payload.status }],
    prompt: readable(payload.prompt),
  };
}

interface Activity {
  readonly id: string | null;
  readonly kind: string;
  readonly thread: string;
  readonly path: string | null;
}

/** v2: `SubAgentActivity` in paginated files, `sub_agent_activity` in legacy ones since 0.140. */
function activityIn(row: Row): Activity | null {
  const item = itemOf(row);
  const json =
    item?.type === "SubAgentActivity" ? item.json : row.type === "event_msg/sub_agent_activity" ? row.payload : null;
  const thread = asThread(json?.agent_thread_id);
  return json === null || thread === null
    ? null
    : {
        id: asNonBlank(json.id) ?? asNonBlank(json.event_id),
        kind: asNonBlank(json.kind) ?? "",
        thread,
        path: asNonBlank(json.agent_path),
      };
}
