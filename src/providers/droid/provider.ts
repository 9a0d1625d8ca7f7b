import type { Provider } from "../../core/ports/provider.ts";
import { hookEvents, jsonHookSettings } from "../kit/json-hook-settings.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { DroidHooks } from "./hooks.ts";
import { droid } from "./manifest.ts";
import { sessionSettings } from "./settings.ts";
import { DroidStream, isPrinted, wrap } from "./stream.ts";
import { asSentence } from "./tasks.ts";
import { Transcript } from "./transcript.ts";

const STREAM = { open: (saved?: unknown) => new DroidStream(saved), promptIn: () => null };
const LIVE = {
  hooks: liveStream("hook", { open: (saved) => new DroidHooks(saved), promptIn: () => null }),
  run: liveStream("stream", STREAM),
};
const FILE = /^sessions\/(?:[^/]+\/)?([0-9a-f-]{36})\.(jsonl|settings\.json)$/i;

export const provider: Provider = {
  ...droid,
  vendor: "factory",
  folders: ["sessions"],
  idForm: "a session id is a UUID such as 4e52fa34-9866-4bcb-a63d-6bdd7097bd79",
  rootsForm: "`FACTORY_HOME_OVERRIDE` + `/.factory`, else `~/.factory`",
  roots(env, home) {
    const dirs = listIn(env.FACTORY_HOME_OVERRIDE);
    return (dirs.length > 0 ? dirs : [home]).map((dir) => `${dir}/.factory`);
  },
  stream(path) {
    const [, session, ending] = FILE.exec(path) ?? [];
    if (session === undefined) return null;
    return ending === "jsonl"
      ? { shape: "lines", open: (file, saved) => new Transcript(session, file, saved), together: session }
      : { shape: "document", open: (file) => sessionSettings(session, file), together: session };
  },
  recorded: (path) => liveAt(LIVE, path),
  wrap,
  printed: { form: "droid exec -o stream-json", recognise: isPrinted, stream: printedStream(STREAM) },
  hooks: jsonHookSettings([{ event: "SessionStart" }, ...hookEvents("Task")], null),
  asSentence,
  attach,
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  isAgentId: (id) => /^[\w.-]+$/.test(id),
};
