/** Reads spawns from Claude Code's hook payloads. Imports little, because the hook must return at once. */
import type { GuardNotice, HookGuard } from "../../core/ports/manifest.ts";
import { asList, asNonBlank, asNumber, asObject, asText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { hookOutput } from "../kit/hook-output.ts";

/** `Task` up to 2.1.62, `Agent` since. A workflow spawns agents, too, but the call does not say how many. */
const SPAWNERS = new Set(["Agent", "Task"]);
export const DEFAULT_TYPE = "general-purpose";
/** Sent to the thread as if it were a prompt. */
const NOTIFICATION = /^\s*<task-notification>/;

export const guard: HookGuard = {
  read(payload, env) {
    const [tool, call, agent] = [
      asText(payload.tool_name) ?? "",
      asNonBlank(payload.tool_use_id),
      asNonBlank(payload.agent_id),
    ];
    const type = asNonBlank(payload.agent_type);
    switch (payload.hook_event_name) {
      case "UserPromptSubmit":
        return agent !== null || NOTIFICATION.test(asText(payload.prompt) ?? "") ? null : { is: "prompted" };
      case "PreToolUse":
        return call === null || !SPAWNERS.has(tool) ? null : spawnIn(payload, call, agent, env);
      case "PostToolUse":
      case "PostToolUseFailure":
        if (tool === "TaskStop") return stopped(payload);
        return call === null || !SPAWNERS.has(tool) ? null : returned(payload, call);
      case "SubagentStart":
        return agent === null ? null : { is: "started", agent, type };
      case "SubagentStop":
        return agent === null ? null : { is: "ended", call: null, agent, type };
      case "StopFailure":
        // Without an agent the thread failed, and with it the agents that it waited for.
        return agent === null ? { is: "idle", running: runningIn(payload) } : { is: "ended", call: null, agent, type };
      case "Stop":
        return agent === null ? { is: "idle", running: runningIn(payload) } : null;
      case "SessionEnd":
        return { is: "closed" };
      default:
        return null;
    }
  },
  depthIn: (text) => asNumber(asObject(parseJson(text)?.value)?.spawnDepth),
  output: hookOutput,
};

function spawnIn(
  payload: JsonObject,
  call: string,
  by: string | null,
  env: Readonly<Record<string, string | undefined>>,
): GuardNotice {
  const input = asObject(payload.tool_input) ?? {};
  const transcript = asNonBlank(payload.transcript_path);
  return {
    is: "spawn",
    call,
    by,
    type: asNonBlank(input.subagent_type) ?? DEFAULT_TYPE,
    description: asNonBlank(input.description),
    process: env.CLAUDE_PID ?? null,
    callerFile:
      by === null || transcript === null || !/^[\w@.-]+$/.test(by)
        ? null
        : `${transcript.replace(/\.jsonl$/, "")}/subagents/agent-${by}.meta.json`,
  };
}

/** A background agent continues after its call has returned. */
function returned(payload: JsonObject, call: string): GuardNotice {
  const response = asObject(payload.tool_response);
  const [agent, status] = [asNonBlank(response?.agentId), asText(response?.status)];
  const isLaunched = response?.isAsync === true || status === "async_launched" || status === "teammate_spawned";
  if (isLaunched && agent !== null) return { is: "bound", call, agent };
  return { is: "ended", call, agent, type: asNonBlank(asObject(payload.tool_input)?.subagent_type) ?? DEFAULT_TYPE };
}

function stopped(payload: JsonObject): GuardNotice | null {
  const input = asObject(payload.tool_input);
  const agent = asNonBlank(input?.task_id) ?? asNonBlank(input?.shell_id);
  return agent === null ? null : { is: "ended", call: null, agent, type: null };
}

const runningIn = (payload: JsonObject) =>
  asList(payload.background_tasks).flatMap((item) => {
    const task = asObject(item);
    const id = task?.type === "subagent" && task.status === "running" ? asNonBlank(task.id) : null;
    return id === null ? [] : [id];
  });
