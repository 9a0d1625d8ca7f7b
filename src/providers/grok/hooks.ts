import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, asTime, type JsonObject } from "../../core/tools/json.ts";
import { HookReader } from "../kit/hook-reader.ts";
import { AT_WORK, turnEnded } from "../kit/live-stream.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";
import { readSpawn, readSpawnResult, SPAWN } from "./spawns.ts";

/**
 * Hook payloads of Grok. Those of a child have its own session, except `SubagentStart`, which names the root.
 * `SubagentStop` is missing after a failure; `StopFailure` is sent instead. Transcripts override them.
 */
export class GrokHooks extends HookReader {
  protected threadOf = key.session;

  override timeIn(payload: JsonObject): number | null {
    return asTime(payload.timestamp);
  }

  read(out: FindingsOf, payload: JsonObject, thread: AgentKey) {
    const session = asNonBlank(payload.session_id) ?? "";
    const call = asNonBlank(payload.toolUseId);
    const isSpawn = payload.toolName === SPAWN && call !== null;
    switch (payload.hook_event_name) {
      case "UserPromptSubmit":
        return this.prompted(out, payload, thread);
      case "PreToolUse":
        if (isSpawn) readSpawn(out, session, call, asObject(payload.toolInput) ?? {}, asNonBlank(payload.promptId));
        return;
      case "PostToolUse":
        if (isSpawn) readSpawnResult(out, session, call, asObject(payload.toolResult) ?? {}, "");
        return;
      case "SubagentStart":
        return this.#spawned(out, payload, thread);
      case "SubagentStop":
      case "Stop":
        return this.stopped(out, { last_assistant_message: payload.lastAssistantMessage }, thread);
      case "StopFailure": {
        const error = asNonBlank(payload.errorDetails) ?? asNonBlank(payload.error) ?? "an error";
        this.isPrompted = false;
        return out.add(turnEnded(thread, "errored", `a hook reports a failure: ${firstLine(error)}`));
      }
      case "SessionEnd":
        return this.sessionEnded(out, payload, thread);
    }
  }

  /** The session is the root, whatever the depth. */
  #spawned(out: FindingsOf, payload: JsonObject, root: AgentKey) {
    const id = asNonBlank(payload.subagentId);
    if (id === null) return;
    const child = key.session(id);
    const [agentType, description] = [asNonBlank(payload.subagentType), asNonBlank(payload.description)];
    out.add({
      type: "agent-described",
      agent: child,
      kind: "subagent",
      ...(agentType === null ? {} : { agentType }),
      ...(description === null ? {} : { description }),
    });
    out.add({
      type: "parent-named",
      child,
      parent: root,
      rule: "SubagentStart.subagentId",
      source: "protocol",
      confidence: 0.5,
      says: "a hook of its root names it",
    });
    out.part({ speaker: child }).add(AT_WORK);
  }
}
