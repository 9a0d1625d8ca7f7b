import type { Provider } from "../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { entryIn } from "../kit/pi/entry.ts";
import { isTitled } from "../kit/pi/head.ts";
import { wrapOf } from "../kit/pi/stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { locate } from "./locate.ts";
import { omp } from "./manifest.ts";
import { isPrinted, OmpStream } from "./stream.ts";
import { Transcript } from "./transcript.ts";

const STREAM = { open: (saved?: unknown) => new OmpStream(saved), promptIn: () => null };
const LIVE = { run: liveStream("stream", STREAM) };
const PROGRAMS = ["omp", "@oh-my-pi/pi-coding-agent"];
/** Below `profiles`. */
const IN_PROFILE = /^[^/]+\/(?:agent\/)?sessions\//;

export const provider: Provider = {
  ...omp,
  vendor: null,
  folders: [""],
  idForm:
    "a session id is a UUID such as 01a1e493-8265-7621-8543-de3548ce3600; an agent has a name, such as alpha.beta",
  rootsForm:
    "`PI_CODING_AGENT_DIR` + `/sessions`, else `~/.omp/agent/sessions` (`PI_CONFIG_DIR` instead of `.omp`), profiles in `~/.omp/profiles`, `$XDG_DATA_HOME/omp/sessions`",
  roots(env, home) {
    const agents = listIn(env.PI_CODING_AGENT_DIR);
    const config = `${home}/${env.PI_CONFIG_DIR || ".omp"}`;
    return [
      ...(agents.length > 0 ? agents : [`${config}/agent`]).map((dir) => `${dir}/sessions`),
      `${config}/profiles`,
      ...(env.XDG_DATA_HOME ? ["sessions", "profiles"].map((dir) => `${env.XDG_DATA_HOME}/omp/${dir}`) : []),
    ];
  },
  // Pi may use the same folder; its files do not begin with a title.
  isOwn: isTitled,
  stream(path) {
    const found = locate(path.replace(IN_PROFILE, ""));
    return found === null ? null : { shape: "lines", open: (file, saved) => new Transcript(found, file, saved) };
  },
  recorded: (path) => liveAt(LIVE, path),
  wrap: (command) => wrapOf(PROGRAMS, command),
  printed: { form: "omp --mode json", recognise: isPrinted, stream: printedStream(STREAM) },
  attach,
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  isAgentId: (id) => /^[\w.|:-]+$/.test(id),
  entry: entryIn,
};
