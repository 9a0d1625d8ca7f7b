import type { FindingsOf } from "../../core/findings.ts";
import { HookReader } from "../../core/hook-reader.ts";
import type { AgentKey } from "../../core/ids.ts";
import { asText, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, turnEnded } from "../../core/live-stream.ts";
import { words } from "./identity.ts";
import * as key from "./keys.ts";

/**
 * What Codex tells its hooks: `session_id` is the root's, `agent_id` the child's thread. Nothing is told when an agent fails or is interrupted,
 * so where rollouts say more, these give way.
 */
export class CodexHooks extends HookReader {
  protected threadOf = key.thread;

  read(out: FindingsOf, said: JsonObject, thread: AgentKey) {
    const agent = asWords(said.agent_id);
    const child = agent === null ? null : key.thread(agent);
    switch (said.hook_event_name) {
      case "UserPromptSubmit":
        this.isAsked = true;
        out.add(AT_WORK);
        return out.add({ type: "agent-described", agent: thread, ...words("prompt", said.prompt), ...words("cwd", said.cwd) });
      case "SubagentStart":
        return child === null ? undefined : readStart(out, said, child, thread);
      case "SubagentStop":
        return child === null ? undefined : readStop(out, said, child);
      case "Stop":
        return this.stopped(out, said, thread);
      case "SessionEnd":
        return this.sessionEnded(out, said, thread);
    }
  }
}

function readStart(out: FindingsOf, said: JsonObject, child: AgentKey, thread: AgentKey) {
  out.add({ type: "agent-described", agent: child, ...words("agentType", said.agent_type) });
  out.part({ speaker: child }).add(AT_WORK);
  const says = "a hook names the session that it belongs to";
  out.add({ type: "parent-named", child, parent: thread, rule: "hook.session_id", source: "inferred", confidence: 0.3, says });
}

/** The transcript that it names besides the child's own is that of the direct parent. */
function readStop(out: FindingsOf, said: JsonObject, child: AgentKey) {
  out.add(turnEnded(child, "completed", "a hook says that it stopped", asWords(said.last_assistant_message)));
  const parent = /rollout-.*-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl/.exec(asText(said.transcript_path) ?? "")?.[1];
  if (parent === undefined || key.thread(parent) === child) return;
  const says = `a hook names the rollout of thread ${parent} as its parent's`;
  out.add({ type: "parent-named", child, parent: key.thread(parent), rule: "hook.transcript_path", source: "protocol", confidence: 1, says });
}
