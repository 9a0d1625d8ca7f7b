import { describe, expect, it } from "vitest";
import { nameAgentIn } from "./shell-hook.ts";

const payload = (command: string, more: object = {}) => ({
  hook_event_name: "PreToolUse",
  session_id: "833fc0f4-1111-4222-8333-444455556666",
  agent_id: "ae1c455f3cc7234dc",
  tool_name: "Bash",
  tool_use_id: "toolu_01abcdefgh",
  tool_input: { command, description: "Run it" },
  ...more,
});

describe("the hook before shell calls", () => {
  it("puts session, agent and call into the environment of a command that starts an agent, and decides nothing", () => {
    expect(nameAgentIn(payload("codex exec 'x'"))).toEqual({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        updatedInput: {
          command:
            "export RETINUE_PARENT_THREAD=claude:833fc0f4-1111-4222-8333-444455556666 RETINUE_PARENT_AGENT=ae1c455f3cc7234dc RETINUE_PARENT_CALL=toolu_01abcdefgh; codex exec 'x'",
          description: "Run it",
        },
      },
    });
  });

  it.each([
    ["another command", payload("git status")],
    ["another tool", payload("codex exec 'x'", { tool_name: "Read" })],
    ["an impossible id", payload("codex exec 'x'", { session_id: "$(rm -rf /)" })],
    ["no input", { tool_name: "Bash" }],
  ])("leaves %s as it is", (_, given) => {
    expect(nameAgentIn(given)).toBeNull();
  });
});
