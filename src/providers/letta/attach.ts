import type { Attach } from "../../core/ports/attach.ts";

/**
 * `--conversation` continues a conversation in place. Only Letta itself forks conversations, for its `fork` agents
 * (0.32.18).
 */
export const attach: Attach = {
  resume(agent, { message, isInteractive, until, args }) {
    if (until !== null) return { unable: "Letta Code continues whole conversations only" };
    if (agent.isRunning) return { unable: "it is running, and Letta Code continues a conversation only in place" };
    if (!agent.files.some(({ isOwn }) => isOwn)) return { unable: "its conversation is not in Letta's own folder" };
    const id = agent.agent ?? agent.thread;
    return {
      command: [
        ...["letta", "--backend", "local"],
        // A conversation with the id of its agent is its default one.
        ...(id.startsWith("agent-") ? ["--agent", id, "--conversation", "default"] : ["--conversation", id]),
        ...args,
        ...(isInteractive ? [] : ["-p"]),
        ...(message === null ? [] : [message]),
      ],
      copies: [],
      limits: ["Letta Code has no fork: the conversation itself continues"],
    };
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
