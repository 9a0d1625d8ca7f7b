import { type Attach, asArgument } from "../../core/ports/attach.ts";

/**
 * `--id` continues a session in place, and only a session of its own: agents are not in its history. There is no fork
 * (3.0.65).
 */
export const attach: Attach = {
  resume() {
    return { unable: "Cline can only resume a whole session in place" };
  },
  begin: (message, { model }, { isInteractive, args }) => [
    "cline",
    ...(isInteractive ? ["-i"] : []),
    ...(model === null ? [] : ["-m", model]),
    ...args,
    ...asArgument(message),
  ],
};
