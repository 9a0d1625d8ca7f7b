/** Recognises hook payloads without parsing them. Imports only types, because the hook must return at once. */
import type { HookPayload } from "../../core/ports/manifest.ts";

/** The folder of a transcript: `<home>/.factory/sessions/<project>/<session>.jsonl`. */
const rootOf = (transcript: string) =>
  /^([\s\S]*[\\/]\.factory)[\\/]sessions[\\/](?:[^\\/]+[\\/])?[0-9a-f-]{36}\.jsonl$/i.exec(transcript)?.[1] ?? null;

export const hookPayload: HookPayload = {
  isHook: (field) => field("hook_event_name") !== null && rootOf(field("transcript_path") ?? "") !== null,
  rootOf,
};
