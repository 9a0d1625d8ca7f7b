import type { Provider } from "../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { attach } from "./attach.ts";
import { gate } from "./gate.ts";
import { hookSettings } from "./hook-settings.ts";
import { CodexHooks } from "./hooks.ts";
import { locate, placesOf } from "./locate.ts";
import { writerLock } from "./lock.ts";
import { codex } from "./manifest.ts";
import { Rollout } from "./rollout.ts";
import { shellSnapshot } from "./snapshot.ts";
import { STATE_STREAM } from "./state.ts";
import { CodexStream, isPrinted, wrap } from "./stream.ts";
import { wire } from "./wire.ts";

/** The reader of the output stream. */
const STREAM = { open: () => new CodexStream(), promptIn: () => null };
const LIVE = {
  run: liveStream("stream", STREAM),
  hooks: liveStream("hook", { open: (saved) => new CodexHooks(saved), promptIn: () => null }),
} as const;

export const provider: Provider = {
  ...codex,
  tracedAs: "openai-codex",
  vendor: "openai",
  rootFiles: true,
  folders: ["sessions", "archived_sessions", "thread-writer-locks", "shell_snapshots"],
  idForm:
    "a thread id is a UUID such as 01a1e11b-7d77-7bb3-b592-aa4e893b1a68; an agent is a thread id or a path such as /root/alpha",
  rootsForm: "`CODEX_HOME`, else `~/.codex`",
  roots(env, home) {
    const given = (env.CODEX_HOME ?? "").split(",").map((dir) => dir.trim());
    const dirs = given.filter((dir) => dir !== "");
    return dirs.length > 0 ? dirs : [`${home}/.codex`];
  },
  stream(path) {
    const found = locate(path);
    if (found === null) return null;
    if (found.is === "state") return STATE_STREAM;
    if (found.is === "lock")
      return { shape: "document", fleeting: true, open: (file) => writerLock(found.thread, file) };
    if (found.is === "snapshot")
      return { shape: "document", open: (file) => shellSnapshot(found.thread, found.at, file) };
    return {
      shape: "lines",
      elsewhere: placesOf(found).filter((place) => place !== path),
      ...(found.packed ? { packed: "zstd" as const } : {}),
      open: (file, saved) => new Rollout(found, file, saved),
    };
  },
  beside: (file) => ({ folders: [], inRoot: (path) => (path === file ? `sessions/${file}` : null) }),
  recorded: (path) => liveAt(LIVE, path),
  wrap,
  gate,
  printed: { form: "codex exec --json", recognise: isPrinted, stream: printedStream(STREAM) },
  hooks: hookSettings,
  // Shared with other products; Codex also reads `skills` in its own folder, which it fills itself.
  skills: (_, home) => `${home}/.agents/skills`,
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  attach,
  isAgentId: (id) => /^[\w.-]+$/.test(id),
  wire,
  isAgentPath: (path) => /^\/root(?:\/[\w.-]+)+$/.test(path),
};
