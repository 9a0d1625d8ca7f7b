/** Recognises hook payloads without parsing them. Imports only types, because the hook must return at once. */
import type { HookPayload } from "../../core/ports/manifest.ts";

/** The folder of a transcript: `<home>/.grok/sessions/<project>/<session>/updates.jsonl`. */
const rootOf = (transcript: string) =>
  /^([\s\S]*)[\\/]sessions[\\/][^\\/]+[\\/][0-9a-f-]{36}[\\/]updates\.jsonl$/i.exec(transcript)?.[1] ?? null;

/**
 * Grok repeats its fields in the format of Claude Code, whose hooks it also runs: `hookEventName: "pre_tool_use"` and
 * `hook_event_name: "PreToolUse"`. VS Code sends both names, too, but not in snake case.
 */
export const hookPayload: HookPayload = {
  isHook: (field) =>
    field("hookEventName") !== null && field("hook_event_name") !== null && field("sessionId") !== null,
  rootOf,
};
