/** What can be told of a hook's payload at a glance. Imports nothing: the hook has to be back at once. */

/** Whatever names a session and an event is taken for Claude Code's, whose form others have copied; so it is asked last. */
export const isHook = (head: string) => /"hook_event_name"\s*:/.test(head) && /"session_id"\s*:/.test(head);

/** The configuration folder that a transcript lies in: `<root>/projects/<project>/<session>.jsonl`. */
export const rootOf = (transcript: string) => /^(.+)[\\/]projects[\\/][^\\/]+[\\/][^\\/]+\.jsonl$/.exec(transcript)?.[1] ?? null;
