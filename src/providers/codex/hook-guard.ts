/** Reads spawns from Codex's hook payloads. Imports little, because the hook must return at once. */
import type { GuardNotice, HookGuard } from "../../core/ports/manifest.ts";
import { asNonBlank, asObject, asText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { hookOutput } from "../kit/hook-output.ts";

/** `spawn_agent`, with the namespace in front of it: `collaborationspawn_agent` (0.166). */
export const SPAWNERS = "spawn_agent$";
const SPAWNER = new RegExp(SPAWNERS);
const DEFAULT_TYPE = "default";

export const guard: HookGuard = {
  read(payload) {
    const [agent, call, type] = [
      asNonBlank(payload.agent_id),
      asNonBlank(payload.tool_use_id),
      asNonBlank(payload.agent_type),
    ];
    const isSpawn = call !== null && SPAWNER.test(asText(payload.tool_name) ?? "");
    switch (payload.hook_event_name) {
      case "UserPromptSubmit":
        return agent === null ? { is: "prompted" } : null;
      case "PreToolUse":
        return isSpawn ? spawnIn(payload, call, agent) : null;
      case "PostToolUse":
        return isSpawn ? spawnedIn(payload, call) : null;
      case "SubagentStart":
        return agent === null ? null : { is: "started", agent, type };
      case "SubagentStop":
        return agent === null ? null : { is: "ended", call: null, agent, type };
      case "SessionEnd":
        return { is: "closed" };
      default:
        return null;
    }
  },
  /** From the first line of the rollout. */
  depthIn(text) {
    const depth = /"thread_spawn":\{[^{}]*?"depth":(\d+)/.exec(text)?.[1];
    return depth === undefined ? null : Number(depth);
  },
  output: hookOutput,
};

function spawnIn(payload: JsonObject, call: string, by: string | null): GuardNotice {
  const input = asObject(payload.tool_input);
  return {
    is: "spawn",
    call,
    by,
    type: asNonBlank(input?.agent_type) ?? DEFAULT_TYPE,
    description: asNonBlank(input?.task_name),
    process: null,
    // In an agent's own hooks this is its own rollout.
    callerFile: by === null ? null : asNonBlank(payload.transcript_path),
  };
}

/** The first sub-agent system returns the id of the agent, the second one only its path. */
function spawnedIn(payload: JsonObject, call: string): GuardNotice | null {
  const response = asObject(parseJson(asText(payload.tool_response) ?? "")?.value);
  const agent = asNonBlank(response?.agent_id);
  if (agent !== null) return { is: "bound", call, agent };
  return response === null ? { is: "ended", call, agent: null, type: null } : null;
}
