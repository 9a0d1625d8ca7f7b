import type { ToolDecision } from "../../core/ports/control.ts";
import type { Gate } from "../../core/ports/gate.ts";
import { asNonBlank, asObject } from "../../core/tools/json.ts";

/** Hooks of the command line are listed under this name. */
const KEY = "/<session-flags>/config.toml:pre_tool_use:0:0";

/**
 * A `PreToolUse` hook of the command line, also asked for agents. Codex runs only hooks that the user trusts by their
 * hash (0.166): this one hook is trusted, and the trust of others is not changed.
 */
export const gate: Gate = {
  open(command, _env, { client, timeout, sha256 }) {
    const at = command.findIndex((word) => word === "exec" || word === "e");
    if (at < 0) return null;
    const hook = { async: false, command: client, timeout, type: "command" };
    const hash = sha256(JSON.stringify({ event_name: "pre_tool_use", hooks: [hook] }));
    const text = JSON.stringify(client);
    const options = [
      "-c",
      `hooks.PreToolUse=[{hooks=[{type="command",command=${text},timeout=${timeout}}]}]`,
      "-c",
      `hooks.state={${JSON.stringify(KEY)}={trusted_hash="sha256:${hash}"}}`,
    ];
    return { command: command.toSpliced(at + 1, 0, ...options), env: {}, files: [] };
  },
  callIn(question) {
    const json = asObject(question);
    const [tool, callId] = [asNonBlank(json?.tool_name), asNonBlank(json?.tool_use_id)];
    if (json === null || tool === null || callId === null || json.hook_event_name !== "PreToolUse") return null;
    return {
      callId,
      tool,
      input: asObject(json.tool_input) ?? {},
      // With or without the namespace, which has no separator.
      isSpawn: tool.endsWith("spawn_agent"),
      sessionId: asNonBlank(json.session_id) ?? "",
      agentId: asNonBlank(json.agent_id),
      agentType: asNonBlank(json.agent_type),
      cwd: asNonBlank(json.cwd),
    };
  },
  answer: answerOf,
};

function answerOf(decision: ToolDecision) {
  if (decision === "allow") return {};
  const specific =
    "deny" in decision
      ? { permissionDecision: "deny", permissionDecisionReason: decision.deny }
      : { permissionDecision: "allow", updatedInput: decision.input };
  return { hookSpecificOutput: { hookEventName: "PreToolUse", ...specific } };
}
