import type { LifecycleState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";

/** The spawn tool. `task` up to 0.12. */
const SPAWN_TOOLS = new Set(["agent", "task"]);
export const isSpawn = (tool: string, args: JsonObject) =>
  SPAWN_TOOLS.has(tool) && (asNonBlank(args.prompt) !== null || asNonBlank(args.subagent_type) !== null);

/** Qwen Code's names for the ends of an agent, in its meta file, in results and in notices. */
const ENDS: Readonly<Record<string, LifecycleState>> = {
  completed: "completed",
  failed: "errored",
  cancelled: "shutdown",
  // The agent was interrupted and can be resumed.
  paused: "shutdown",
};
export const endOf = (status: unknown): LifecycleState | null => {
  const text = asText(status) ?? "";
  return Object.hasOwn(ENDS, text) ? (ENDS[text] ?? null) : null;
};

export function readSpawn(out: FindingsOf, session: string, id: string, tool: string, args: JsonObject): void {
  out.add({
    type: "spawn-called",
    call: key.call(session, id),
    tool,
    makes: "one",
    prompt: asText(args.prompt),
    agentType: asNonBlank(args.subagent_type),
    description: asNonBlank(args.description),
    name: null,
    offers: [],
  });
}

const LAUNCHED = /^(?:Background|Fork)[^\n]*\blaunched\b[^\n]*\n(?:[^\n]*\n)*?task_id: (\S+)/i;

/** The result of a failed call whose agent did run. Other failed calls spawned nothing: the product refused them. */
const RAN = /^(?:Failed to run subagent|Subagent execution failed|\[Operation Cancelled\])/;
export const isRefusal = (text: string) => !RAN.test(text);

/** The result of a spawn call. Its `status` is `success` for agents that failed, too. */
export function readSpawnResult(out: FindingsOf, session: string, id: string, text: string, result: unknown): void {
  const call = key.call(session, id);
  const outcome = asObject(result);
  const display = asObject(outcome?.resultDisplay);
  const launched = LAUNCHED.exec(text)?.[1];
  if (launched !== undefined)
    out.add({
      type: "call-spawned",
      call,
      child: key.agent(session, launched),
      rule: "task_id",
      source: "parent_rollout",
      says: `the result of call ${id} names agent ${launched}`,
    });
  // A display without a mode is that of a call that was refused.
  const hasRun = display?.type === "task_execution" && display.executionMode !== undefined;
  if (outcome?.status === "error" && !hasRun && isRefusal(text)) {
    out.add({ type: "call-refused", call, says: firstLine(text) });
    return;
  }
  const isBackground = launched !== undefined || display?.executionMode === "background";
  const state: LifecycleState | null = isBackground ? "launched" : stateOf(display, outcome, text);
  if (state === null) return;
  const why = asNonBlank(display?.terminateReason) ?? asText(display?.status) ?? asText(outcome?.status) ?? "its end";
  out.add({
    type: "lifecycle",
    of: { call },
    state,
    source: "parent_rollout",
    says: isBackground ? "its call launched it in the background" : `the result of its call reports ${firstLine(why)}`,
    result: state === "completed" ? (asNonBlank(display?.result) ?? asNonBlank(text)) : null,
  });
}

function stateOf(display: JsonObject | null, outcome: JsonObject | null, text: string): LifecycleState | null {
  // An agent that was interrupted has `failed` in its meta file and in the display.
  if (outcome?.status === "cancelled") return "shutdown";
  if (display?.type === "task_execution") return endOf(display.status);
  return outcome?.status === "error" || /^Subagent execution failed/.test(text) ? "errored" : null;
}

const NOTICE = /<task-notification>([\s\S]*?)(?:<\/task-notification>|$)/g;

interface Notice {
  readonly agent: string;
  readonly state: LifecycleState;
  readonly summary: string;
  readonly result: string | null;
}

function* noticesIn(text: string): Generator<Notice> {
  for (const [, body = ""] of text.matchAll(NOTICE)) {
    // The result may quote anything; only the part before it belongs to the notice.
    const [head = ""] = body.split("<result>", 1);
    const field = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(head)?.[1]?.trim() || null;
    const [agent, state] = [field("task-id"), endOf(field("status"))];
    if (agent === null || state === null) continue;
    const begin = body.indexOf("<result>");
    const result =
      begin < 0 ? null : asNonBlank(body.slice(begin + 8, Math.max(body.lastIndexOf("</result>"), begin + 8)));
    yield { agent, state, summary: field("summary") ?? `Agent ${agent}: ${field("status")}`, result };
  }
}

/** Notices to a session about the end of background agents. Background shells have them, too. */
export function readNotices(out: FindingsOf, session: string, text: string): void {
  for (const { agent, state, summary, result } of noticesIn(text)) {
    if (!/^Agent\b/.test(summary)) continue;
    out.add({
      type: "lifecycle",
      of: key.agent(session, agent),
      state,
      source: "parent_rollout",
      says: `a notification to its parent reads ${JSON.stringify(firstLine(summary))}`,
      result: state === "completed" ? result : null,
    });
  }
}

/** Notices as readable sentences; null for a text without one. */
export function asSentence(text: string): string | null {
  const sentences = [...noticesIn(text)].map(({ summary, result }) =>
    result === null
      ? summary
      : `${summary} ${result.length > 600 ? `${result.slice(0, 600).toWellFormed()}…` : result}`,
  );
  return sentences.length === 0 ? null : sentences.join("\n");
}
