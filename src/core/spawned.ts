import type { AgentEvent } from "./event.ts";

/** That an agent began, in the shape that shadow trackers of `stream-json` emit: a `StreamChunk` of the kind `SubAgentSpawned`. */
export interface SubAgentSpawned {
  readonly type: "sub_agent_spawned";
  readonly agent_id: string;
  readonly session_id: string;
  /** Empty where it is not known: readers of this shape expect a string. */
  readonly prompt: string;
  readonly subagent_type: string | null;
  /** Empty where it is not known. */
  readonly parent_tool_id: string;
}

/** Null for events that are no spawn. */
export function spawnedLine({ spawn }: AgentEvent): SubAgentSpawned | null {
  if (spawn === null) return null;
  const { agentId, sessionId, prompt, type, toolCallId } = spawn;
  return {
    type: "sub_agent_spawned",
    agent_id: agentId ?? sessionId,
    session_id: sessionId,
    prompt: prompt ?? "",
    subagent_type: type,
    parent_tool_id: toolCallId ?? "",
  };
}
