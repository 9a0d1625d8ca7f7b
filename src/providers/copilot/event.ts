import type { RecordState } from "../../core/facts/observation.ts";
import { asList, asNonBlank, asObject, asText, asTime, type JsonObject, jsonText } from "../../core/tools/json.ts";

/** One line of `events.jsonl`. */
export interface CopilotEvent {
  readonly type: string;
  readonly id: string | null;
  readonly at: number | null;
  /** Null for the thread itself. */
  readonly agent: string | null;
  readonly data: JsonObject;
}

/** Null if it has no type. */
export function readEvent(json: JsonObject): CopilotEvent | null {
  const type = asNonBlank(json.type);
  if (type === null) return null;
  const data = asObject(json.data) ?? {};
  return {
    type,
    id: asNonBlank(json.id),
    at: asTime(json.timestamp),
    agent: asNonBlank(json.agentId) ?? agentByCall(type, data),
    data,
  };
}

/** Up to 1.0.40 events name no agent: the id of the spawn call is used, as 1.0.64 does itself. */
function agentByCall(type: string, data: JsonObject): string | null {
  return asNonBlank(AGENT_EVENTS.has(type) ? data.toolCallId : data.parentToolCallId);
}

const AGENT_EVENTS = new Set(["subagent.started", "subagent.completed", "subagent.failed"]);

/** Events that are not part of the conversation. */
const BOOKKEEPING = new Set(
  "session.start session.resume session.shutdown session.usage_record session.usage_checkpoint session.model_change session.mode_changed session.plan_changed session.context_changed session.title_changed session.snapshot_rewind session.handoff session.truncation session.compaction_start session.workspace_file_changed session.background_tasks_changed session.task_complete session.tools_updated session.skills_loaded session.idle session.usage_info session.permissions_changed session.session_limits_changed session.auto_mode_resolved session.binary_asset session.import_legacy model.turn_started model.turn_ended model.model_call_started model.model_call_success model.model_call_failure model.message model.response model.messages_snapshot system.message assistant.turn_start assistant.turn_end assistant.intent assistant.usage subagent.selected subagent.deselected subagent.configured tool.execution_start tool.execution_progress tool.execution_partial_result tool.user_requested hook.start hook.end skill.invoked permission.requested permission.completed user_input.requested user_input.completed".split(
    " ",
  ),
);
const CONVERSATION = new Set(
  "user.message assistant.message assistant.reasoning tool.execution_complete session.error session.warning session.info session.compaction_complete system.notification abort subagent.started subagent.completed subagent.failed".split(
    " ",
  ),
);
export const isKnown = (type: string) => BOOKKEEPING.has(type) || CONVERSATION.has(type);

export interface ToolRequest {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
}

export const requestsIn = ({ data }: CopilotEvent): readonly ToolRequest[] =>
  asList(data.toolRequests).flatMap((request) => {
    const json = asObject(request);
    const [id, name] = [asNonBlank(json?.toolCallId), asNonBlank(json?.name)];
    return id === null || name === null ? [] : [{ id, name, args: asObject(json?.arguments) ?? {} }];
  });

/** The result of a tool, or its error. */
export function resultText({ data }: CopilotEvent): string {
  const output =
    data.success === false ? asObject(data.error)?.message : (asObject(data.result)?.content ?? data.result);
  return asText(output) ?? jsonText(output ?? null) ?? "";
}

/** The state of the agent after this event; null if it does not change. */
export function stateAfter(event: CopilotEvent): RecordState | null {
  switch (event.type) {
    case "user.message":
    case "subagent.started":
    case "tool.execution_complete":
    case "assistant.turn_start":
      return "open";
    case "assistant.message":
      return requestsIn(event).length > 0 ? "open" : "answered";
    case "session.error":
      return "failed";
    case "abort":
      return "interrupted";
    default:
      return null;
  }
}
