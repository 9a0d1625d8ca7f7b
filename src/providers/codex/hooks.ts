import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asText, type JsonObject } from "../../core/tools/json.ts";
import { HookReader } from "../kit/hook-reader.ts";
import { AT_WORK, turnEnded } from "../kit/live-stream.ts";
import { textField } from "./identity.ts";
import * as key from "./keys.ts";

/**
 * Hook payloads of Codex: `session_id` is the root's, `agent_id` the child's thread. Failures and interrupts are not
 * reported. Rollouts override them.
 */
export class CodexHooks extends HookReader {
  protected threadOf = key.thread;

  read(out: FindingsOf, payload: JsonObject, thread: AgentKey) {
    const agent = asNonBlank(payload.agent_id);
    const child = agent === null ? null : key.thread(agent);
    switch (payload.hook_event_name) {
      case "UserPromptSubmit":
        this.isPrompted = true;
        out.add(AT_WORK);
        return out.add({
          type: "agent-described",
          agent: thread,
          ...textField("prompt", payload.prompt),
          ...textField("cwd", payload.cwd),
        });
      case "SubagentStart":
        return child === null ? undefined : readStart(out, payload, child, thread);
      case "SubagentStop":
        return child === null ? undefined : readStop(out, payload, child);
      case "Stop":
        return this.stopped(out, payload, thread);
      case "SessionEnd":
        return this.sessionEnded(out, payload, thread);
    }
  }
}

function readStart(out: FindingsOf, payload: JsonObject, child: AgentKey, thread: AgentKey) {
  out.add({ type: "agent-described", agent: child, ...textField("agentType", payload.agent_type) });
  out.part({ speaker: child }).add(AT_WORK);
  const says = "a hook names the session that it belongs to";
  out.add({
    type: "parent-named",
    child,
    parent: thread,
    rule: "hook.session_id",
    source: "inferred",
    confidence: 0.3,
    says,
  });
}

/** The transcript named besides the child's own is the direct parent's. */
function readStop(out: FindingsOf, payload: JsonObject, child: AgentKey) {
  out.add(turnEnded(child, "completed", "a hook reports that it stopped", asNonBlank(payload.last_assistant_message)));
  const parent = /rollout-[^/\\]{1,200}-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl/.exec(
    asText(payload.transcript_path) ?? "",
  )?.[1];
  if (parent === undefined || key.thread(parent) === child) return;
  const says = `a hook names the rollout of thread ${parent} as its parent's`;
  out.add({
    type: "parent-named",
    child,
    parent: key.thread(parent),
    rule: "hook.transcript_path",
    source: "protocol",
    confidence: 1,
    says,
  });
}
