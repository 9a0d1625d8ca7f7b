import { type Attach, type AttachRequest, nameIn } from "../../core/ports/attach.ts";

/** Every agent is a session, and any session can be forked by its id; its files are only read. Tried with 1.0.41. */
export const attach: Attach = {
  resume({ thread, files }, ask) {
    if (!files.some(({ isOwn }) => isOwn)) return { unable: "its session is not in Grok's own folder" };
    if (nameIn(thread) === null) return { unable: "its id cannot be an argument" };
    if (ask.until !== null) return { unable: "Grok can only fork a session at its end" };
    return { command: commandOf(["--resume", thread, "--fork-session"], ask), copies: [], limits: [] };
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
