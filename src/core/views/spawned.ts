import type { AgentEvent } from "./event.ts";

/** The start of an agent, in the shape of trackers of `stream-json`: a `StreamChunk` of the kind `SubAgentSpawned`. */
export interface SubAgentSpawned {
  readonly type: "sub_agent_spawned";
  readonly agent_id: string;
  readonly session_id: string;
  /** Empty if unknown: readers of this shape expect a string. */
  readonly prompt: string;
  readonly subagent_type: string | null;
  /** Empty if unknown. */
  readonly parent_tool_id: string;
}

/** Null for other events. */
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
