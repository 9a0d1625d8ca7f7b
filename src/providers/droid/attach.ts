import { type Attach, type AttachRequest, asArgument } from "../../core/ports/attach.ts";

/** Every agent is a session of its own, which `--fork` copies into a new one (0.225.2). */
export const attach: Attach = {
  resume(agent, ask) {
    if (ask.until !== null) return { unable: "Droid forks whole sessions only" };
    if (!agent.files.some(({ isOwn }) => isOwn)) return { unable: "its session is not in Droid's own folder" };
    return {
      command: commandOf(["--fork", agent.agent ?? agent.thread], agent.model, ask),
      copies: [],
      limits: agent.isBelow ? ["Droid gives it the main agent's instructions and tools"] : [],
    };
  },
  begin: (message, { model }, ask) => commandOf([], model, { ...ask, message }),
};

/** Only `exec` accepts a model. */
const commandOf = (
  session: readonly string[],
  model: string | null,
  { message, isInteractive, args }: AttachRequest,
) => [
  "droid",
  ...(isInteractive ? [] : ["exec"]),
  ...session,
  ...(isInteractive || model === null ? [] : ["-m", model]),
  ...args,
  ...(message === null ? [] : asArgument(message)),
];
