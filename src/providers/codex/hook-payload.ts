/** What can be told of a hook's payload at a glance. Imports nothing but types: the hook has to be back at once. */
import type { PayloadField } from "../../core/hook-payload.ts";

/** Its transcripts are called rollouts. */
export const isHook = (field: PayloadField) =>
  field("hook_event_name") !== null &&
  [field("transcript_path"), field("agent_transcript_path")].some((path) => path !== null && /rollout-[^\\/]*\.jsonl/.test(path));

/** The home that a rollout lies in: `<root>/sessions/<year>/<month>/<day>/rollout-….jsonl`. */
export const rootOf = (transcript: string) => /^([\s\S]+)[\\/](?:archived_)?sessions[\\/](?:\d+[\\/]){0,3}rollout-[^\\/]+$/.exec(transcript)?.[1] ?? null;
