import { type Attach, asArgument } from "../../core/ports/attach.ts";
import type { Provider } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, parseJson } from "../../core/tools/json.ts";
import { crush } from "./manifest.ts";
import { CrushSession, planFor } from "./sessions.ts";

/** `--session` continues a session in place; there is no fork. */
const attach: Attach = {
  resume() {
    return { unable: "Crush can only resume a whole session in place" };
  },
  begin: (message, _, { isInteractive, args }) =>
    isInteractive ? ["crush", ...args] : ["crush", "run", ...args, ...asArgument(message)],
};

export const provider: Provider = {
  ...crush,
  vendor: null,
  rootFiles: true,
  folders: [],
  idForm: "a session id is a UUID; that of an agent is <message>$$<call>",
  rootsForm:
    "the data folders in `projects.json` in `CRUSH_GLOBAL_DATA`, else in `$XDG_DATA_HOME/crush` (default `~/.local/share/crush`)",
  roots: () => [],
  rootList: {
    file: (env, home) =>
      `${env.CRUSH_GLOBAL_DATA || `${env.XDG_DATA_HOME || `${home}/.local/share`}/crush`}/projects.json`,
    rootsIn: (text) =>
      asList(asObject(parseJson(text)?.value)?.projects).flatMap((item) => {
        const [path, data] = [asNonBlank(asObject(item)?.path), asNonBlank(asObject(item)?.data_dir)];
        if (data === null) return [];
        if (data.startsWith("/") || /^[A-Za-z]:/.test(data)) return [data];
        return path === null ? [] : [`${path}/${data}`];
      }),
  },
  stream: (path) =>
    path === "crush.db"
      ? { shape: "database", plan: planFor, open: (file, saved) => new CrushSession(file, saved) }
      : null,
  attach,
  isThreadId: (id) => /^[\w$.:-]{3,200}$/.test(id),
  isAgentId: (id) => /^[\w$.:-]{3,200}$/.test(id),
};
