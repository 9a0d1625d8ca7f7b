import { type Attach, asArgument } from "../../core/ports/attach.ts";
import type { Provider } from "../../core/ports/provider.ts";
import { cannotFork } from "../kit/fork.ts";
import { goose } from "./manifest.ts";
import { GooseSession, planFor } from "./sessions.ts";

const attach: Attach = {
  resume(agent, ask) {
    const unable = cannotFork("Goose", "database", agent, ask);
    if (unable !== null) return unable;
    if (!ask.isInteractive) return { unable: "Goose can only fork a session in a terminal" };
    return {
      command: ["goose", "session", "--resume", "--fork", "--session-id", agent.thread, ...ask.args],
      copies: [],
      limits: [],
    };
  },
  begin: (message, _, { isInteractive, args }) =>
    isInteractive ? ["goose", "session", ...args] : ["goose", "run", ...args, "--text", ...asArgument(message)],
};

export const provider: Provider = {
  ...goose,
  vendor: null,
  rootFiles: true,
  folders: [],
  idForm: "a session id looks like 20260521_3",
  rootsForm:
    "`GOOSE_PATH_ROOT` + `/data/sessions`, else `$XDG_DATA_HOME/goose/sessions` (default `~/.local/share/goose/sessions`)",
  roots: (env, home) => [
    env.GOOSE_PATH_ROOT
      ? `${env.GOOSE_PATH_ROOT}/data/sessions`
      : `${env.XDG_DATA_HOME || `${home}/.local/share`}/goose/sessions`,
  ],
  stream: (path) =>
    path === "sessions.db"
      ? { shape: "database", plan: planFor, open: (file, saved) => new GooseSession(file, saved) }
      : null,
  attach,
  isThreadId: (id) => /^[\w.-]{1,80}$/.test(id),
  isAgentId: (id) => /^[\w.-]{1,80}$/.test(id),
};
