import type { Provider } from "../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { entryIn } from "../kit/pi/entry.ts";
import { isUntitled } from "../kit/pi/head.ts";
import { wrapOf } from "../kit/pi/stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { locate } from "./locate.ts";
import { pi } from "./manifest.ts";
import { isPrinted, PiStream } from "./stream.ts";
import { Transcript } from "./transcript.ts";
import { wire } from "./wire.ts";

const PROGRAMS = ["pi", "@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"];
const STREAM = { open: (saved?: unknown) => new PiStream(saved), promptIn: () => null };
const LIVE = { run: liveStream("stream", STREAM) };

export const provider: Provider = {
  ...pi,
  vendor: null,
  folders: [""],
  idForm: "a session id is a UUID such as 01a1e11c-ea2c-7174-9520-4cd9373a20d7, or what it was given with --session-id",
  rootsForm:
    "`PI_CODING_AGENT_SESSION_DIR`, else `PI_CODING_AGENT_DIR` + `/sessions`, else `~/.pi/agent/sessions`; also `$TMPDIR/pi-subagents-*`",
  roots(env, home) {
    const sessions = listIn(env.PI_CODING_AGENT_SESSION_DIR);
    const agents = listIn(env.PI_CODING_AGENT_DIR);
    const own =
      sessions.length > 0
        ? sessions
        : (agents.length > 0 ? agents : [`${home}/.pi/agent`]).map((dir) => `${dir}/sessions`);
    // One extension keeps its agents' records in the temp folder.
    return [...own, `${(env.TMPDIR || env.TMP || env.TEMP || "/tmp").replace(/[\\/]+$/, "")}/pi-subagents-*`];
  },
  // oh-my-pi may use the same folder; its files begin with a title.
  isOwn: isUntitled,
  stream(path) {
    const found = locate(path);
    return found === null ? null : { shape: "lines", open: (file, saved) => new Transcript(found, file, saved) };
  },
  recorded: (path) => liveAt(LIVE, path),
  wrap: (command) => wrapOf(PROGRAMS, command),
  printed: { form: "pi --mode json", recognise: isPrinted, stream: printedStream(STREAM) },
  wire,
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  attach,
  isAgentId: (id) => /^[\w.|:-]+$/.test(id),
  entry: entryIn,
};
