import { type Attach, type AttachedAgent, type AttachRequest, asArgument, nameIn } from "../../../core/ports/attach.ts";

/**
 * Every agent is a session. `--session` alone would continue in the agent's own session, so it is forked; the fork is a
 * session without a parent. Tried with OpenCode 1.18.33.
 */
export const attachOf = (program: string, product: string): Attach => ({
  resume(agent, ask) {
    const { thread, files, isBelow, type } = agent;
    if (!files.some(({ isOwn }) => isOwn)) return { unable: `its session is not in ${product}'s own database` };
    if (nameIn(thread) === null) return { unable: "its id cannot be an argument" };
    if (ask.until !== null) return { unable: `${product} can only fork a session at its end` };
    return {
      command: commandOf(program, ["--session", thread, "--fork"], agent, ask),
      copies: [],
      limits: isBelow
        ? [
            `${product} runs sub-agents' types (here ${type ?? "unknown"}) only below another agent; its default agent is used`,
          ]
        : [],
    };
  },
  begin: (message, agent, ask) => commandOf(program, [], agent, { ...ask, message }),
});

function commandOf(
  program: string,
  session: readonly string[],
  { model, vendor, type, isBelow }: AttachedAgent,
  { message, isInteractive, args }: AttachRequest,
): readonly string[] {
  const options = [
    ...session,
    ...(model === null || vendor === null ? [] : ["--model", `${vendor}/${model}`]),
    ...(type === null || isBelow ? [] : ["--agent", type]),
    ...args,
  ];
  if (!isInteractive) return [program, "run", ...options, ...(message === null ? [] : asArgument(message))];
  return [program, ...options, ...(message === null ? [] : ["--prompt", message])];
}
