/** Recognises hook payloads without parsing them. Imports only types, because the hook must return at once. */
import type { HookPayload } from "../../core/ports/manifest.ts";

/** The configuration folder of a transcript: `<root>/projects/<project>/chats/<session>.jsonl`. */
const rootOf = (transcript: string) =>
  /^([\s\S]+)[\\/]projects[\\/][^\\/]+[\\/]chats[\\/][^\\/]+\.jsonl$/.exec(transcript)?.[1] ?? null;

export const hookPayload: HookPayload = {
  isHook: (field) => field("hook_event_name") !== null && rootOf(field("transcript_path") ?? "") !== null,
  rootOf,
};
