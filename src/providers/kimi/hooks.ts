import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { HookReader } from "../kit/hook-reader.ts";
import { textOf } from "../kit/text.ts";
import * as key from "./keys.ts";
import { isSpawn, readSpawn } from "./spawns.ts";

/**
 * Hook payloads of Kimi Code. They name the session and no agent: `Stop` is also sent for the turns of agents, so no
 * end is read from them. They notify the server, which reads the transcripts.
 */
export class KimiHooks extends HookReader {
  protected threadOf = (session: string) => key.agent(session, key.MAIN);

  read(out: FindingsOf, payload: JsonObject, thread: AgentKey) {
    const session = asNonBlank(payload.session_id) ?? "";
    if (payload.hook_event_name === "UserPromptSubmit")
      this.prompted(out, payload, thread, asNonBlank(textOf(payload.prompt, "")));
    const [call, tool] = [asNonBlank(payload.tool_call_id), asNonBlank(payload.tool_name)];
    // Agents cannot spawn agents, so the call is the session's own.
    if (payload.hook_event_name === "PreToolUse" && call !== null && tool !== null && isSpawn(tool))
      readSpawn(out, session, call, tool, asObject(payload.tool_input) ?? {});
    const child = /^agent_id: (\S+)$/m.exec(asText(payload.tool_output) ?? "")?.[1];
    if (call !== null && child !== undefined && isSpawn(tool ?? ""))
      out.add({
        type: "call-spawned",
        call: key.call(session, call),
        child: key.agent(session, child),
        rule: "PostToolUse.tool_output",
        source: "protocol",
        says: `a hook names call ${call} and agent ${child}`,
      });
  }
}
