import type { Attach } from "../../core/ports/attach.ts";

/**
 * `--conversation` continues a conversation in place. Only Letta itself forks conversations, for its `fork` agents
 * (0.32.18).
 */
export const attach: Attach = {
  resume() {
    return { unable: "Letta Code can only continue a conversation in place" };
  },
  begin: (message, { model, vendor }, { isInteractive, args }) => [
    "letta",
    "--new-agent",
    ...(model === null || vendor === null ? [] : ["-m", `${vendor}/${model}`]),
    ...args,
    ...(isInteractive ? [] : ["-p"]),
    message,
  ],
};
