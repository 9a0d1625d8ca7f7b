import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import type { LifecycleState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, type JsonObject } from "../../core/tools/json.ts";
import { idOf, key } from "./keys.ts";

/** The spawn tool, and its older name. */
const TOOLS = new Set(["Agent", "Task"]);

/** States a spawn call; false if the call is not one. Other commands of the tool have no prompt. */
export function readSpawn(out: FindingsOf, session: string, id: string, tool: string, args: JsonObject): boolean {
  const prompt = asNonBlank(args.prompt);
  if (!TOOLS.has(tool) || prompt === null) return false;
  const [agent, conversation] = [asNonBlank(args.agent_id), asNonBlank(args.conversation_id)];
  // A new task for an agent in a conversation that exists.
  if (conversation !== null && (agent !== null || conversation !== "default")) {
    const child = key.thread(idOf(agent ?? "", conversation));
    const says = `its parent gave it a task with call ${id}`;
    out.add({ type: "lifecycle", of: child, state: "revived", source: "parent_rollout", says, result: null });
    out.add({ type: "message-sent", to: child });
    return true;
  }
  out.add({
    type: "spawn-called",
    call: key.call(session, id),
    tool,
    makes: "one",
    prompt,
    agentType: asNonBlank(args.subagent_type),
    description: asNonBlank(args.description),
    name: null,
    offers: [key.promptMatch(session, prompt)],
  });
  return true;
}

/** A task and its agent, as the result of a spawn call names them. */
export interface Launched {
  readonly task: string;
  readonly agent: AgentKey;
}

const LAUNCHED = /^(?:Memory )?task running in background\b/i;
const field = (text: string, name: string) => new RegExp(`^${name}: (\\S+)$`, "m").exec(text)?.[1] ?? null;

/** The result of a spawn call. It reports the launch; the end is reported elsewhere. */
export function readSpawnResult(out: FindingsOf, call: CallKey, text: string): Launched | null {
  if (!LAUNCHED.test(text)) {
    // Refused: agents have no such tool, and a launch may fail. Neither is marked as an error.
    out.add({ type: "call-refused", call, says: text });
    return null;
  }
  const [agent, conversation] = [field(text, "Agent ID"), field(text, "Conversation ID")];
  const says = "its call launched it in the background";
  out.add({ type: "lifecycle", of: { call }, state: "launched", source: "parent_rollout", says, result: null });
  if (agent === null) return null;
  const child = key.thread(idOf(agent, conversation));
  out.add({ type: "agent-described", agent: child, vouched: true, background: true });
  out.add({
    type: "call-spawned",
    call,
    child,
    rule: "Agent ID",
    source: "parent_rollout",
    says: `the result of its call names agent ${agent}`,
  });
  const task = /\btask ID: (\S+)/.exec(text)?.[1];
  return task === undefined ? null : { task, agent: child };
}

const NOTICE = /<task-notification>([\s\S]*?)<\/task-notification>/g;
const tag = (text: string, name: string) => new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(text)?.[1]?.trim();

/** Notices to the parent about the end of its tasks. `agents` are those of its tasks. */
export function readNotices(out: FindingsOf, text: string, agents: ReadonlyMap<string, AgentKey>): boolean {
  let isNotice = false;
  for (const [, notice = ""] of text.matchAll(NOTICE)) {
    isNotice = true;
    const [task, status] = [tag(notice, "task-id"), tag(notice, "status")];
    const agent = agents.get(task ?? "");
    if (agent === undefined || status === undefined) continue;
    out.add({
      type: "lifecycle",
      of: agent,
      state: endOf(status),
      source: "parent_rollout",
      says: `a notification to its parent reports ${status}: ${tag(notice, "summary") ?? ""}`,
      result: null,
    });
  }
  return isNotice;
}

/** The product's names for the end of a task. */
export function endOf(status: string): LifecycleState {
  if (status === "completed" || status === "success") return "completed";
  return /abort|cancel|stop|kill|interrupt/.test(status) ? "shutdown" : "errored";
}

/** Notices as a sentence; null for other texts. */
export function asSentence(text: string): string | null {
  const summaries = [...text.matchAll(NOTICE)].flatMap(([, notice = ""]) => tag(notice, "summary") ?? []);
  return summaries.length === 0 ? null : summaries.join("\n");
}
