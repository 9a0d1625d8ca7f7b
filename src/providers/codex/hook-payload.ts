/** What can be told of a hook's payload at a glance. Imports nothing: the hook has to be back at once. */

/** Its transcripts are called rollouts. */
export const isHook = (head: string) => /"hook_event_name"\s*:/.test(head) && /"(agent_)?transcript_path"\s*:\s*"[^"]*rollout-[^"]*\.jsonl/.test(head);

/** The home that a rollout lies in: `<root>/sessions/<year>/<month>/<day>/rollout-….jsonl`. */
export const rootOf = (transcript: string) => /^(.+)[\\/](?:archived_)?sessions[\\/](?:\d+[\\/]){0,3}rollout-[^\\/]+$/.exec(transcript)?.[1] ?? null;
