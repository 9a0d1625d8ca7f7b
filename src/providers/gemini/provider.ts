import type { Provider } from "../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { locate } from "./locate.ts";
import { gemini } from "./manifest.ts";
import { GeminiStream, isPrinted, wrap } from "./stream.ts";
import { Transcript } from "./transcript.ts";

const STREAM = { open: (saved?: unknown) => new GeminiStream(saved), promptIn: () => null };
const LIVE = { run: liveStream("stream", STREAM) };

export const provider: Provider = {
  ...gemini,
  vendor: "google",
  thoughtsBesideOutput: true,
  folders: ["tmp"],
  idForm: "a session id is a UUID such as e0b94bd8-9c3a-484c-8379-36af4166605b",
  rootsForm: "`GEMINI_CLI_HOME` + `/.gemini`, else `~/.gemini`",
  roots(env, home) {
    const dirs = listIn(env.GEMINI_CLI_HOME);
    return (dirs.length > 0 ? dirs : [home]).map((dir) => `${dir}/.gemini`);
  },
  stream(path) {
    const found = locate(path);
    return found === null ? null : { shape: found.shape, open: (file, saved) => new Transcript(found, file, saved) };
  },
  recorded: (path) => liveAt(LIVE, path),
  wrap,
  printed: { form: "gemini --output-format stream-json", recognise: isPrinted, stream: printedStream(STREAM) },
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  attach,
  isAgentId: (id) => /^[\w.#-]+$/.test(id),
};
