import type { Provider, Stream } from "../../core/ports/provider.ts";
import { lateSession, wrapLate } from "../kit/late-session.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { hookSettings } from "./hook-settings.ts";
import { KimiHooks } from "./hooks.ts";
import { locate } from "./locate.ts";
import { kimi } from "./manifest.ts";
import { OldWire, oldMeta } from "./old.ts";
import { asSentence } from "./spawns.ts";
import { sessionState } from "./state.ts";
import { isPrinted, OUTPUT } from "./stream.ts";
import { Wire } from "./wire.ts";

const orElse = (given: readonly string[], usual: string) => (given.length > 0 ? given : [usual]);

const STREAM = lateSession(OUTPUT);
const LIVE = {
  hooks: liveStream("hook", { open: (saved) => new KimiHooks(saved), promptIn: () => null }),
  run: liveStream("stream", STREAM),
};

export const provider: Provider = {
  ...kimi,
  vendor: "moonshotai",
  folders: ["sessions"],
  idForm: "a session id looks like session_aa547439-b430-470b-9f43-f4a65f939a3c",
  rootsForm: "`KIMI_CODE_HOME`, else `~/.kimi-code`; and `KIMI_SHARE_DIR`, else `~/.kimi`",
  roots: (env, home) => [
    ...orElse(listIn(env.KIMI_CODE_HOME), `${home}/.kimi-code`),
    ...orElse(listIn(env.KIMI_SHARE_DIR), `${home}/.kimi`),
  ],
  stream(path): Stream | null {
    const found = locate(path);
    if (found === null) return null;
    const { session } = found;
    switch (found.is) {
      case "state":
        return { shape: "document", open: (file) => sessionState(session, file), together: session };
      case "wire":
        return {
          shape: "lines",
          open: (file, saved) => new Wire(session, found.agent, file, saved),
          together: session,
        };
      case "old-wire":
        return {
          shape: "lines",
          open: (file, saved) => new OldWire(session, found.agent, file, saved),
          together: session,
        };
      case "old-meta":
        return { shape: "document", open: (file) => oldMeta(session, found.agent, file), together: session };
      default:
        return found satisfies never;
    }
  },
  wrap: wrapLate(OUTPUT),
  recorded: (path) => liveAt(LIVE, path),
  printed: { form: "kimi -p … --output-format stream-json", recognise: isPrinted, stream: printedStream(STREAM) },
  hooks: hookSettings,
  asSentence,
  attach,
  isThreadId: (id) => /^[\w-]{1,80}$/.test(id),
  isAgentId: (id) => /^[\w.-]+$/.test(id),
};
