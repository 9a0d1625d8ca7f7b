import { type Attach, type AttachRequest, asArgument, nameIn } from "../../core/ports/attach.ts";

/**
 * Every agent is a thread, and any thread can be forked by its id; its rollout is only read. A fork has the whole
 * history of the thread (`codex exec fork`, tried with 0.166.0).
 */
export const attach: Attach = {
  resume({ thread, files, model }, ask) {
    if (!files.some(({ isOwn }) => isOwn)) return { unable: "its rollout is not in Codex's own folder" };
    if (nameIn(thread) === null) return { unable: "its id cannot be an argument" };
    if (ask.until !== null) return { unable: "Codex can only fork a thread at its end" };
    return { command: commandOf("fork", [thread], model, ask), copies: [], limits: [] };
  },
  begin: (message, { model }, ask) => commandOf(null, [], model, { ...ask, message }),
};

function commandOf(
  command: "fork" | null,
  ids: readonly string[],
  model: string | null,
  { message, isInteractive, args }: AttachRequest,
): readonly string[] {
  return [
    "codex",
    ...(isInteractive ? [] : ["exec"]),
    ...(command === null ? [] : [command]),
    ...(model === null ? [] : ["-m", model]),
    ...args,
    ...ids,
    ...(message === null ? [] : asArgument(message)),
  ];
}
