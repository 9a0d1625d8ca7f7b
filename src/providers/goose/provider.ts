import { type Attach, asArgument, nameIn } from "../../core/ports/attach.ts";
import type { Provider } from "../../core/ports/provider.ts";
import { goose } from "./manifest.ts";
import { GooseSession, planFor } from "./sessions.ts";

const attach: Attach = {
  resume({ thread, files }, { isInteractive, until, args }) {
    if (!files.some(({ isOwn }) => isOwn)) return { unable: "its session is not in Goose's own database" };
    if (nameIn(thread) === null) return { unable: "its id cannot be an argument" };
    if (until !== null) return { unable: "Goose can only fork a session at its end" };
    if (!isInteractive) return { unable: "Goose can only fork a session in a terminal" };
    return {
      command: ["goose", "session", "--resume", "--fork", "--session-id", thread, ...args],
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
