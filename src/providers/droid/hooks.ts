import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, type JsonObject } from "../../core/tools/json.ts";
import { HookReader } from "../kit/hook-reader.ts";
import { AT_WORK } from "../kit/live-stream.ts";
import * as key from "./keys.ts";
import { taskIn } from "./tasks.ts";

/**
 * Hook payloads of Droid. A child has a session of its own, and its hooks name it. `SubagentStop` is sent in the
 * parent's session and does not name the child, so only the child's own `Stop` is used. Transcripts override them.
 */
export class DroidHooks extends HookReader {
  protected threadOf = key.session;

  /** The beginning of a child names its parent. */
  override threadIn(payload: JsonObject): AgentKey | null {
    const [session, parent] = [asNonBlank(payload.session_id), asNonBlank(payload.calling_session_id)];
    return session !== null && parent !== null ? key.session(session) : super.threadIn(payload);
  }

  read(out: FindingsOf, payload: JsonObject, thread: AgentKey) {
    switch (payload.hook_event_name) {
      case "SessionStart": {
        const parent = asNonBlank(payload.calling_session_id);
        if (parent === null) return;
        out.add({
          type: "parent-named",
          child: thread,
          parent: key.session(parent),
          rule: "SessionStart.calling_session_id",
          source: "protocol",
          confidence: 1,
          says: `a hook names ${parent} as its parent`,
        });
        return out.add(AT_WORK);
      }
      case "UserPromptSubmit": {
        const text = asNonBlank(payload.prompt);
        return this.prompted(out, payload, thread, text === null ? null : (taskIn(text)?.prompt ?? text));
      }
      case "Stop":
        return this.stopped(out, payload, thread);
      case "SessionEnd":
        return this.sessionEnded(out, payload, thread);
    }
  }
}
