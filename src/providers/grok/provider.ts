import type { Provider, Stream } from "../../core/ports/provider.ts";
import { hookEvents, jsonHookSettings } from "../kit/json-hook-settings.ts";
import { lateSession, wrapLate } from "../kit/late-session.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { listIn } from "../kit/roots.ts";
import { attach } from "./attach.ts";
import { meta, summary } from "./documents.ts";
import { GrokHooks } from "./hooks.ts";
import { Log } from "./log.ts";
import { grok } from "./manifest.ts";
import { SPAWN } from "./spawns.ts";
import { isPrinted, OUTPUT } from "./stream.ts";
import { Updates } from "./updates.ts";
import { wire } from "./wire.ts";

const STREAM = lateSession(OUTPUT);
const LIVE = {
  hooks: liveStream("hook", { open: (saved) => new GrokHooks(saved), promptIn: () => null }),
  run: liveStream("stream", STREAM),
};
const ID = "([0-9a-f-]{36})";
const FILE = new RegExp(`^sessions/[^/]+/${ID}/(updates\\.jsonl|summary\\.json)$`, "i");
const META = new RegExp(`^sessions/[^/]+/${ID}/subagents/${ID}/meta\\.json$`, "i");

export const provider: Provider = {
  ...grok,
  vendor: "x-ai",
  folders: ["sessions", "logs"],
  idForm: "a session id is a UUID such as 01a1e498-197d-7343-99bf-c7428910c978",
  rootsForm: "`GROK_HOME`, else `~/.grok`",
  roots(env, home) {
    const dirs = listIn(env.GROK_HOME);
    return dirs.length > 0 ? dirs : [`${home}/.grok`];
  },
  stream(path): Stream | null {
    if (path === "logs/unified.jsonl") return { shape: "lines", open: (file, saved) => new Log(file, saved) };
    const [, root, child] = META.exec(path) ?? [];
    if (root !== undefined && child !== undefined)
      return { shape: "document", open: (file) => meta(root, child, file), together: root };
    const [, session, name] = FILE.exec(path) ?? [];
    if (session === undefined) return null;
    return name === "updates.jsonl"
      ? { shape: "lines", open: (file, saved) => new Updates(session, file, saved), together: session }
      : { shape: "document", open: (file) => summary(session, file), together: session };
  },
  wrap: wrapLate(OUTPUT),
  recorded: (path) => liveAt(LIVE, path),
  printed: { form: "grok -p … --output-format streaming-json", recognise: isPrinted, stream: printedStream(STREAM) },
  hooks: { ...jsonHookSettings(hookEvents(SPAWN), null), file: "hooks/retinue.json" },
  attach,
  wire,
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  isAgentId: (id) => /^[\w.-]+$/.test(id),
};
