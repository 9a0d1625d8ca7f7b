import type { Attach } from "../../core/ports/attach.ts";
import { attachCommand } from "../kit/gemini-cli.ts";

/** `--fork-session` copies a session into a new one. Agents are not sessions, and cannot be resumed (0.24.4). */
export const attach: Attach = {
  resume(agent, ask) {
    if (agent.isBelow) return { unable: "Qwen Code resumes sessions, not agents below them" };
    if (ask.until !== null) return { unable: "Qwen Code forks whole sessions only" };
    if (!agent.files.some(({ isOwn }) => isOwn)) return { unable: "its session is not in Qwen Code's own folder" };
    return {
      command: attachCommand("qwen", ["--resume", agent.thread, "--fork-session"], agent.model, ask),
      copies: [],
      limits: [],
    };
  },
  begin: (message, { model }, ask) => attachCommand("qwen", [], model, { ...ask, message }),
};
