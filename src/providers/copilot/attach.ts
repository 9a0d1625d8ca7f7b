import type { Attach } from "../../core/ports/attach.ts";

/**
 * All agents of a session are in its one file, and `--resume` continues the main agent in that file. There is no fork
 * (1.0.102).
 */
export const attach: Attach = {
  resume() {
    return { unable: "Copilot can only resume a whole session in place" };
  },
  begin: (message, { model }, { isInteractive, args }) => [
    "copilot",
    ...(model === null ? [] : ["--model", model]),
    ...args,
    isInteractive ? "-i" : "-p",
    message,
  ],
};
