import type { Provider, Stream } from "../../core/ports/provider.ts";
import { hookEvents, jsonHookSettings } from "../kit/json-hook-settings.ts";
import { liveAt, liveStream } from "../kit/live-stream.ts";
import { attach } from "./attach.ts";
import { meta, summary } from "./documents.ts";
import { GrokHooks } from "./hooks.ts";
import { Log } from "./log.ts";
import { grok } from "./manifest.ts";
import { SPAWN } from "./spawns.ts";
import { Updates } from "./updates.ts";

const LIVE = { hooks: liveStream("hook", { open: (saved) => new GrokHooks(saved), promptIn: () => null }) };
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
    const given = (env.GROK_HOME ?? "").split(",").map((dir) => dir.trim());
    const dirs = given.filter((dir) => dir !== "");
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
  recorded: (path) => liveAt(LIVE, path),
  hooks: { ...jsonHookSettings(hookEvents(SPAWN), null), file: "hooks/retinue.json" },
  attach,
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  isAgentId: (id) => /^[\w.-]+$/.test(id),
};
