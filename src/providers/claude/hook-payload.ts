/** Recognises hook payloads without parsing them. Imports little, because the hook must return at once. */
import type { HookPayload, PayloadField } from "../../core/ports/manifest.ts";
import { guard } from "./hook-guard.ts";

/**
 * Other products run the hooks of Claude Code's settings file, too (Grok 1.0.41, Cursor, VS Code), or call the same
 * command with similar payloads (Qwen, Droid, Gemini). They are distinguished by fields, event names and folders that
 * Claude Code does not use.
 */
function isHook(field: PayloadField): boolean {
  const event = field("hook_event_name");
  if (event === null || field("session_id") === null) return false;
  if (FOREIGN_FIELDS.some((name) => field(name) !== null) || FOREIGN_EVENT.test(event)) return false;
  return [field("transcript_path"), field("agent_transcript_path")].every(
    (path) => path === null || !FOREIGN_FOLDER.test(path) || rootOf(path) !== null,
  );
}

const FOREIGN_FIELDS = [
  "hookEventName",
  "sessionId",
  "workspaceRoot",
  "conversation_id",
  "generation_id",
  "cursor_version",
];
/** `preToolUse`, `session_start`; `BeforeTool`, `AfterAgent`, `PreCompress`. */
const FOREIGN_EVENT = /^(?:[^A-Z]|(?:Before|After)[A-Z]|PreCompress$)/;
const FOREIGN_FOLDER =
  /[\\/](?:\.(?:grok|cursor|vscode|qwen|factory|gemini|antigravity|codex|copilot|kimi|kimi-code|omp|pi|cline|letta|augment|continue|windsurf|codeium|amp|goose|crush)|workspaceStorage|opencode|kilo)[\\/]/i;

/**
 * The configuration folder of a transcript: `<root>/projects/<project>/<session>.jsonl`, where the project is a path
 * with `-` for every `/`.
 */
const rootOf = (transcript: string) =>
  /^([\s\S]+)[\\/]projects[\\/](?:-|[A-Za-z]--)[^\\/]*[\\/][^\\/]+\.jsonl$/.exec(transcript)?.[1] ?? null;

/** Several products copied the format, so those are tried first. */
export const hookPayload: HookPayload = { isHook, rootOf, guard, isGeneric: true };
