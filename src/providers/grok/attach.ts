import type { Attach, AttachRequest } from "../../core/ports/attach.ts";
import { cannotFork } from "../kit/fork.ts";

/** Every agent is a session, and any session can be forked by its id; its files are only read. Tried with 1.0.41. */
export const attach: Attach = {
  resume(agent, ask) {
    const unable = cannotFork("Grok", "folder", agent, ask);
    if (unable !== null) return unable;
    return { command: commandOf(["--resume", agent.thread, "--fork-session"], ask), copies: [], limits: [] };
  },
  begin: (message, _, ask) => commandOf([], { ...ask, message }),
};

/** The model of the records is the API's name, which may differ from the configured one, so it is not passed on. */
const commandOf = (options: readonly string[], { message, isInteractive, args }: AttachRequest) => [
  "grok",
  ...options,
  ...args,
  ...(message === null ? [] : isInteractive ? [message] : ["-p", message]),
];
