import type { Provider, Stream } from "../../core/ports/provider.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { processMark, workspace } from "./beside.ts";
import { copilot } from "./manifest.ts";
import { Transcript } from "./transcript.ts";

export const provider: Provider = {
  ...copilot,
  vendor: null,
  folders: ["session-state"],
  idForm: "a session id is a UUID such as 96f34f9f-1eba-4f08-84b0-7facbacca19a",
  rootsForm: "`COPILOT_HOME`, else `~/.copilot`",
  roots(env, home) {
    const dirs = listIn(env.COPILOT_HOME);
    return dirs.length > 0 ? dirs : [`${home}/.copilot`];
  },
  stream(path): Stream | null {
    const [, session, name] = /^session-state\/([^/.][^/]*)\/([^/]+)$/.exec(path) ?? [];
    const [, flat] = /^session-state\/([^/.]+)\.jsonl$/.exec(path) ?? [];
    if (flat !== undefined) return { shape: "lines", open: (file, saved) => new Transcript(flat, file, false, saved) };
    if (session === undefined || name === undefined) return null;
    if (name === "events.jsonl")
      return { shape: "lines", open: (file, saved) => new Transcript(session, file, true, saved) };
    if (name === "workspace.yaml") return { shape: "document", open: (file) => workspace(session, file) };
    const [, pid] = /^inuse\.(\d+)\.lock$/.exec(name) ?? [];
    return pid === undefined
      ? null
      : { shape: "document", fleeting: true, open: (file) => processMark(session, Number(pid), file) };
  },
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  attach,
  isAgentId: (id) => /^[\w.-]+$/.test(id),
};
