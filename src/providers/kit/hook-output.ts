import type { LimitAction } from "../../core/guard/limits.ts";

/**
 * The output of a `PreToolUse` hook in Claude Code's format, which Codex reads, too: a refusal with its reason, or a
 * notice for the user and the model.
 */
export const hookOutput = (action: LimitAction, text: string): string =>
  JSON.stringify(
    action === "deny"
      ? {
          hookSpecificOutput: {
            hookEventName: "PreToolUse",
            permissionDecision: "deny",
            permissionDecisionReason: text,
          },
        }
      : { systemMessage: text, hookSpecificOutput: { hookEventName: "PreToolUse", additionalContext: text } },
  );
