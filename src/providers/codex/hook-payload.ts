/** Recognises hook payloads without parsing them. Imports little, because the hook must return at once. */
import type { HookPayload } from "../../core/ports/manifest.ts";
import { guard } from "./hook-guard.ts";

export const hookPayload: HookPayload = {
  /** Codex calls its transcripts rollouts. */
  isHook: (field) =>
    field("hook_event_name") !== null &&
    [field("transcript_path"), field("agent_transcript_path")].some(
      (path) => path !== null && /rollout-[^\\/]*\.jsonl/.test(path),
    ),
  /** The home of a rollout: `<root>/sessions/<year>/<month>/<day>/rollout-….jsonl`. */
  rootOf: (transcript) =>
    /^([\s\S]+)[\\/](?:archived_)?sessions[\\/](?:\d+[\\/]){0,3}rollout-[^\\/]+$/.exec(transcript)?.[1] ?? null,
  guard,
};
