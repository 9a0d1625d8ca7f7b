import type { FindingsOf } from "../../core/findings.ts";
import { HookReader } from "../../core/hook-reader.ts";
import type { AgentKey } from "../../core/ids.ts";
import { asList, asObject, asText, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, turnEnded } from "../../core/live-stream.ts";
import type { LifecycleState } from "../../core/observation.ts";
import { isHook } from "./hook-payload.ts";
import * as key from "./keys.ts";
import { isNotification } from "./notification.ts";
import { readUserText } from "./prompt.ts";
import { plainText, readRow } from "./rows.ts";
import { readNotifications, readToolResult, spawnCalled } from "./spawns.ts";

/**
 * What Claude Code tells its hooks. They come early and know who is at work, but not how everybody ended: `SubagentStop` is missing after a failure and after
 * `TaskStop` (2.1.325), and comes for the product's own work as well. So where records say more, these give way.
 */
export class ClaudeHooks extends HookReader {
  protected threadOf = key.thread;

  /** Payloads of other products may have been kept as Claude Code's. */
  override threadIn(said: JsonObject): AgentKey | null {
    return isHook((field) => asText(said[field])) ? super.threadIn(said) : null;
  }

  read(out: FindingsOf, said: JsonObject, thread: AgentKey) {
    const [session, agent] = [asWords(said.session_id), asWords(said.agent_id)];
    if (session === null) return;
    const speaker = agent === null ? thread : key.agent(session, agent);
    switch (said.hook_event_name) {
      case "UserPromptSubmit":
        return this.#readPrompt(out, asText(said.prompt) ?? "", thread, session, asWords(said.cwd));
      case "SubagentStart":
        return readStart(out, speaker, asWords(said.agent_type));
      case "PreToolUse":
      case "PostToolUse":
      case "PostToolUseFailure":
        return readTool(out.part({ speaker }), said, session);
      case "SubagentStop":
        return out.add(turnEnded(speaker, "completed", "a hook says that it stopped", asWords(said.last_assistant_message)));
      case "Stop":
        readBackground(out, said.background_tasks, session);
        return this.stopped(out, said, thread);
      case "StopFailure":
        if (agent === null) this.isAsked = false;
        return out.add(turnEnded(speaker, "errored", `a hook says that it failed: ${asWords(said.error) ?? "no reason is given"}`));
      case "SessionEnd":
        return this.sessionEnded(out, said, thread);
    }
  }

  #readPrompt(out: FindingsOf, text: string, thread: AgentKey, session: string, cwd: string | null) {
    this.isAsked = true;
    out.add(AT_WORK);
    if (isNotification(text)) return readNotifications(out, text, session);
    const asked = readUserText(text);
    const prompt = asked.is === "prompt" ? asWords(asked.text) : null;
    out.add({ type: "agent-described", agent: thread, ...(prompt === null ? {} : { prompt }), ...(cwd === null ? {} : { cwd }) });
  }
}

function readStart(out: FindingsOf, agent: AgentKey, agentType: string | null) {
  out.add({ type: "agent-described", agent, ...(agentType === null ? {} : { agentType }) });
  out.part({ speaker: agent }).add(AT_WORK);
}

/** Calls that make agents: who made them, and whom. */
function readTool(out: FindingsOf, said: JsonObject, session: string) {
  const [id, name] = [asWords(said.tool_use_id), asWords(said.tool_name)];
  const spawn = id === null || name === null ? null : spawnCalled({ is: "tool-use", id, name, input: said.tool_input }, readRow({}), session);
  if (id === null || spawn === null) return;
  out.add(spawn);
  if (said.hook_event_name === "PreToolUse") return;
  const isError = said.hook_event_name === "PostToolUseFailure";
  const text = isError ? (asText(said.error) ?? "") : plainText(asObject(said.tool_response)?.content);
  const shutdown = said.is_interrupt === true ? { toolDenialKind: "interrupted" } : {};
  readToolResult(out, { is: "tool-result", id, isError, text }, readRow({ toolUseResult: said.tool_response, ...shutdown }), session, spawn.makes);
}

const STATES: Readonly<Record<string, LifecycleState>> = { completed: "completed", failed: "errored", killed: "shutdown", stopped: "shutdown" };

/** Whoever still runs when the thread stops. */
function readBackground(out: FindingsOf, tasks: unknown, session: string) {
  for (const item of asList(tasks)) {
    const task = asObject(item);
    const id = asWords(task?.id);
    if (task === null || id === null || task.type !== "subagent") continue;
    const [agentType, description] = [asWords(task.agent_type), asWords(task.description)];
    const agent = key.agent(session, id);
    out.add({
      type: "agent-described",
      agent,
      background: true,
      ...(agentType === null ? {} : { agentType }),
      ...(description === null ? {} : { description }),
    });
    const state = STATES[asText(task.status) ?? ""];
    if (state === "completed" || state === "errored" || state === "shutdown") out.add(turnEnded(agent, state, `a hook says ${asText(task.status)}`));
  }
}
