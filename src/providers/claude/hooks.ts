import type { AgentKey } from "../../core/facts/ids.ts";
import type { LifecycleState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { RefusalNote } from "../../core/ports/refusal-note.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { HookReader } from "../kit/hook-reader.ts";
import { AT_WORK, turnEnded } from "../kit/live-stream.ts";
import { hookPayload } from "./hook-payload.ts";
import * as key from "./keys.ts";
import { isNotification } from "./notification.ts";
import { readUserText } from "./prompt.ts";
import { plainText, readRow } from "./rows.ts";
import { readNotifications, readToolResult, spawnCalled } from "./spawns.ts";

/**
 * Hook payloads of Claude Code. They are early, but incomplete: `SubagentStop` is missing after a failure and after
 * `TaskStop` (2.1.325), and also occurs for internal work. Records override them.
 */
export class ClaudeHooks extends HookReader {
  protected threadOf = key.thread;

  /** Payloads of other products may have been recorded as Claude Code's. */
  override threadIn(payload: JsonObject): AgentKey | null {
    return hookPayload.isHook((field) => asText(payload[field])) ? super.threadIn(payload) : null;
  }

  refusedIn = ({ session, call }: RefusalNote) => ({ thread: key.thread(session), call: key.call(session, call) });

  read(out: FindingsOf, payload: JsonObject, thread: AgentKey) {
    const [session, agent] = [asNonBlank(payload.session_id), asNonBlank(payload.agent_id)];
    if (session === null) return;
    const speaker = agent === null ? thread : key.agent(session, agent);
    switch (payload.hook_event_name) {
      case "UserPromptSubmit":
        return this.#readPrompt(out, asText(payload.prompt) ?? "", thread, session, asNonBlank(payload.cwd));
      case "SubagentStart":
        return readStart(out, speaker, asNonBlank(payload.agent_type));
      case "PreToolUse":
      case "PostToolUse":
      case "PostToolUseFailure":
        return readTool(out.part({ speaker }), payload, session);
      case "SubagentStop":
        return out.add(
          turnEnded(speaker, "completed", "a hook reports that it stopped", asNonBlank(payload.last_assistant_message)),
        );
      case "Stop":
        readBackground(out, payload.background_tasks, session);
        return this.stopped(out, payload, thread);
      case "StopFailure":
        if (agent === null) this.isPrompted = false;
        return out.add(
          turnEnded(
            speaker,
            "errored",
            `a hook reports that it failed: ${asNonBlank(payload.error) ?? "no reason is given"}`,
          ),
        );
      case "SessionEnd":
        return this.sessionEnded(out, payload, thread);
    }
  }

  #readPrompt(out: FindingsOf, text: string, thread: AgentKey, session: string, cwd: string | null) {
    this.isPrompted = true;
    out.add(AT_WORK);
    if (isNotification(text)) return readNotifications(out, text, session);
    const asked = readUserText(text);
    const prompt = asked.is === "prompt" ? asNonBlank(asked.text) : null;
    out.add({
      type: "agent-described",
      agent: thread,
      ...(prompt === null ? {} : { prompt }),
      ...(cwd === null ? {} : { cwd }),
    });
  }
}

function readStart(out: FindingsOf, agent: AgentKey, agentType: string | null) {
  out.add({ type: "agent-described", agent, ...(agentType === null ? {} : { agentType }) });
  out.part({ speaker: agent }).add(AT_WORK);
}

/** Spawn calls: by which agent, and the agent spawned. */
function readTool(out: FindingsOf, payload: JsonObject, session: string) {
  const [id, name] = [asNonBlank(payload.tool_use_id), asNonBlank(payload.tool_name)];
  const spawn =
    id === null || name === null
      ? null
      : spawnCalled({ is: "tool-use", id, name, input: payload.tool_input }, readRow({}), session);
  if (id === null || spawn === null) return;
  out.add(spawn);
  if (payload.hook_event_name === "PreToolUse") return;
  const isError = payload.hook_event_name === "PostToolUseFailure";
  const text = isError ? (asText(payload.error) ?? "") : plainText(asObject(payload.tool_response)?.content);
  const shutdown = payload.is_interrupt === true ? { toolDenialKind: "interrupted" } : {};
  readToolResult(
    out,
    { is: "tool-result", id, isError, text },
    readRow({ toolUseResult: payload.tool_response, ...shutdown }),
    session,
    spawn.makes,
  );
}

const STATES: Readonly<Record<string, LifecycleState>> = {
  completed: "completed",
  failed: "errored",
  killed: "shutdown",
  stopped: "shutdown",
};

/** The agents that are still running when the thread stops. */
function readBackground(out: FindingsOf, tasks: unknown, session: string) {
  for (const item of asList(tasks)) {
    const task = asObject(item);
    const id = asNonBlank(task?.id);
    if (task === null || id === null || task.type !== "subagent") continue;
    const [agentType, description] = [asNonBlank(task.agent_type), asNonBlank(task.description)];
    const agent = key.agent(session, id);
    out.add({
      type: "agent-described",
      agent,
      background: true,
      ...(agentType === null ? {} : { agentType }),
      ...(description === null ? {} : { description }),
    });
    const state = STATES[asText(task.status) ?? ""];
    if (state === "completed" || state === "errored" || state === "shutdown")
      out.add(turnEnded(agent, state, `a hook reports ${asText(task.status)}`));
  }
}
