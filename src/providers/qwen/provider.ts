import type { Provider } from "../../core/ports/provider.ts";
import { hookEvents, jsonHookSettings } from "../kit/json-hook-settings.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { QwenHooks } from "./hooks.ts";
import { locate } from "./locate.ts";
import { qwen } from "./manifest.ts";
import { agentMeta } from "./meta.ts";
import { asSentence } from "./spawns.ts";
import { isPrinted, QwenStream, wrap } from "./stream.ts";
import { Transcript } from "./transcript.ts";

const STREAM = { open: (saved?: unknown) => new QwenStream(saved), promptIn: () => null };
const LIVE = {
  run: liveStream("stream", STREAM),
  hooks: liveStream("hook", { open: (saved) => new QwenHooks(saved), promptIn: () => null }),
};

export const provider: Provider = {
  ...qwen,
  vendor: "alibaba",
  folders: ["projects"],
  idForm: "a session id is a UUID such as 5c26e3ea-c8f2-4441-9451-f3e08486fb6f",
  rootsForm: "`QWEN_HOME`, else `~/.qwen`; also `QWEN_RUNTIME_DIR`",
  roots(env, home) {
    const homes = listIn(env.QWEN_HOME);
    // QWEN_RUNTIME_DIR moves the records alone; the settings stay.
    return [...(homes.length > 0 ? homes : [`${home}/.qwen`]), ...listIn(env.QWEN_RUNTIME_DIR)];
  },
  stream(path) {
    const found = locate(path);
    if (found === null) return null;
    if (found.is === "meta")
      return {
        shape: "document",
        open: (file) => agentMeta(found.session, found.agent, file),
        together: found.session,
      };
    return { shape: "lines", open: (file, saved) => new Transcript(found, file, saved), together: found.session };
  },
  recorded: (path) => liveAt(LIVE, path),
  wrap,
  printed: { form: "qwen -p … --output-format stream-json", recognise: isPrinted, stream: printedStream(STREAM) },
  hooks: jsonHookSettings(hookEvents("agent|task"), null),
  asSentence,
  attach,
  isThreadId: (id) => /^[\w-]{1,80}$/.test(id),
  isAgentId: (id) => /^[\w.:-]+$/.test(id),
};
