import type { Provider } from "../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { conversationFile, TaskLog } from "./documents.ts";
import { locate } from "./locate.ts";
import { letta } from "./manifest.ts";
import { asSentence } from "./spawns.ts";
import { isPrinted, LettaStream, wrap } from "./stream.ts";
import { Transcript } from "./transcript.ts";

const STREAM = { open: (saved?: unknown) => new LettaStream(saved), promptIn: () => null };
const LIVE = { run: liveStream("stream", STREAM) };

export const provider: Provider = {
  ...letta,
  vendor: null,
  folders: ["conversations"],
  rootFiles: true,
  idForm:
    "a conversation id looks like local-conv-1, an agent id like agent-local-6a5da03d-8730-414b-b9b8-34089d0ca325",
  rootsForm: "`LETTA_LOCAL_BACKEND_DIR`, else `~/.letta/lc-local-backend`; also `$TMPDIR/letta-background-*`",
  roots(env, home) {
    const own = listIn(env.LETTA_LOCAL_BACKEND_DIR);
    const temp = (env.TMPDIR || env.TMP || env.TEMP || "/tmp").replace(/[\\/]+$/, "");
    return [...(own.length > 0 ? own : [`${home}/.letta/lc-local-backend`]), `${temp}/letta-background-*`];
  },
  stream(path) {
    const found = locate(path);
    if (found === null) return null;
    if (found.is === "task") return { shape: "document", open: (file) => new TaskLog(file) };
    const { id } = found;
    return found.is === "messages"
      ? { shape: "lines", open: (file, saved) => new Transcript(id, file, saved), together: id }
      : { shape: "document", open: (file) => conversationFile(id, file), together: id };
  },
  recorded: (path) => liveAt(LIVE, path),
  wrap,
  printed: { form: "letta -p … --output-format stream-json", recognise: isPrinted, stream: printedStream(STREAM) },
  attach,
  asSentence,
  isThreadId: (id) => /^[\w.-]{1,80}$/.test(id),
  isAgentId: (id) => /^[\w.-]+$/.test(id),
};
