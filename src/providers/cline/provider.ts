import type { Provider } from "../../core/ports/provider.ts";
import { commandOf } from "../kit/command.ts";
import { outputOnly } from "../kit/live-stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { locate } from "./locate.ts";
import { cline } from "./manifest.ts";
import { planFor, SessionRow } from "./sessions.ts";
import { Transcript } from "./transcript.ts";

export const provider: Provider = {
  ...cline,
  vendor: null,
  folders: ["sessions", "db"],
  idForm: "a session id looks like 1794836362579_zcuzt",
  rootsForm: "`CLINE_DATA_DIR`, else `CLINE_DIR` + `/data`, else `~/.cline/data`",
  roots(env, home) {
    const given = listIn(env.CLINE_DATA_DIR);
    const homes = listIn(env.CLINE_DIR);
    if (given.length > 0) return given;
    return (homes.length > 0 ? homes : [`${home}/.cline`]).map((dir) => `${dir}/data`);
  },
  stream(path) {
    const found = locate(path);
    if (found === null) return null;
    if (found.is === "database") return { shape: "database", plan: planFor, open: (file) => new SessionRow(file) };
    const { session } = found;
    return found.is === "session"
      ? { shape: "document", open: (file) => new SessionRow(file), together: session }
      : { shape: "document", open: (file) => new Transcript(found, file), together: session };
  },
  // Its output (`--json`) does not name the session, so nothing can be recorded from it.
  wrap: (command) =>
    commandOf(command)?.name === "cline" ? { ...outputOnly(false, null), namesThread: "never" } : null,
  attach,
  isThreadId: (id) => /^[\w-]{6,80}$/.test(id),
  isAgentId: (id) => /^[\w.-]+$/.test(id),
};
