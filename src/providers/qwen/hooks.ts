import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, type JsonObject } from "../../core/tools/json.ts";
import { HookReader } from "../kit/hook-reader.ts";
import { AT_WORK, turnEnded } from "../kit/live-stream.ts";
import * as key from "./keys.ts";
import { isSpawn, readSpawn } from "./spawns.ts";

/**
 * Hook payloads of Qwen Code: `session_id` is the root's. `SubagentStop` is missing after a failure, and `tool_use_id`
 * is not the id of the call (`tool_call_id` is). Transcripts override them.
 */
export class QwenHooks extends HookReader {
  protected threadOf = key.thread;

  read(out: FindingsOf, payload: JsonObject, thread: AgentKey) {
    const [session, id] = [asNonBlank(payload.session_id) ?? "", asNonBlank(payload.agent_id)];
    const speaker = id === null ? thread : key.agent(session, id);
    switch (payload.hook_event_name) {
      case "UserPromptSubmit":
        // The hook also runs for the results of tools; then it has no prompt.
        return asNonBlank(payload.prompt) === null ? undefined : this.prompted(out, payload, thread);
      case "PreToolUse": {
        const [call, tool] = [asNonBlank(payload.tool_call_id), asNonBlank(payload.tool_name)];
        const args = asObject(payload.tool_input) ?? {};
        if (call !== null && tool !== null && isSpawn(tool, args))
          readSpawn(out.part({ speaker }), session, call, tool, args);
        return;
      }
      case "SubagentStart": {
        const agentType = asNonBlank(payload.agent_type);
        if (id === null) return;
        out.add({ type: "agent-described", agent: speaker, ...(agentType === null ? {} : { agentType }) });
        return out.part({ speaker }).add(AT_WORK);
      }
      case "SubagentStop":
        return id === null
          ? undefined
          : out.add(
              turnEnded(
                speaker,
                "completed",
                "a hook reports that it stopped",
                asNonBlank(payload.last_assistant_message),
              ),
            );
      case "Stop":
        return this.stopped(out, payload, thread);
      case "SessionEnd":
        return this.sessionEnded(out, payload, thread);
    }
  }
}
