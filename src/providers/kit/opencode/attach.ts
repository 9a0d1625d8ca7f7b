import { type Attach, type AttachedAgent, type AttachRequest, asArgument } from "../../../core/ports/attach.ts";
import { cannotFork } from "../fork.ts";

/**
 * Every agent is a session. `--session` alone would continue in the agent's own session, so it is forked; the fork is a
 * session without a parent. Tried with OpenCode 1.18.33.
 */
export const attachOf = (program: string, product: string): Attach => ({
  resume(agent, ask) {
    const { thread, isBelow, type } = agent;
    const unable = cannotFork(product, "database", agent, ask);
    if (unable !== null) return unable;
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
