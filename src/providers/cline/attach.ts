import { type Attach, asArgument } from "../../core/ports/attach.ts";

/**
 * `--id` continues a session in place, in a terminal and without a first message; agents are not sessions. There is no
 * fork (3.0.65).
 */
export const attach: Attach = {
  resume(agent, { message, isInteractive, until, args }) {
    if (agent.isBelow) return { unable: "Cline resumes sessions, not agents below them" };
    if (until !== null) return { unable: "Cline resumes whole sessions only" };
    if (!isInteractive || message !== null)
      return { unable: "Cline resumes a session only in a terminal, without a message" };
    if (agent.isRunning) return { unable: "it is running, and Cline resumes a session only in place" };
    if (!agent.files.some(({ isOwn }) => isOwn)) return { unable: "its session is not in Cline's own folder" };
    return {
      command: ["cline", "--id", agent.thread, ...args],
      copies: [],
      limits: ["Cline has no fork: the session itself continues"],
    };
  },
  begin: (message, { model }, { isInteractive, args }) => [
    "cline",
    ...(isInteractive ? ["-i"] : []),
    ...(model === null ? [] : ["-m", model]),
    ...args,
    ...asArgument(message),
  ],
};
