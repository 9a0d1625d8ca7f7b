import type { FileStream, Provider, SourceFile } from "../../core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../kit/live-stream.ts";
import { attach } from "./attach.ts";
import { agentMeta, processMark, workflowJournal, workflowSummary } from "./documents.ts";
import { fastFactor } from "./fast.ts";
import { hookSettings } from "./hook-settings.ts";
import { ClaudeHooks } from "./hooks.ts";
import { promptIn, wrap } from "./launch.ts";
import { besideTranscript, locate } from "./locate.ts";
import { claude } from "./manifest.ts";
import { asSentence } from "./markup.ts";
import { portable } from "./portable.ts";
import { ClaudeStream, isPrinted } from "./stream.ts";
import { ClaudeTelemetry, SERVICE } from "./telemetry.ts";
import { Transcript } from "./transcript.ts";
import { wire } from "./wire.ts";

/** The reader of the output stream. */
const STREAM = { open: (saved?: unknown) => new ClaudeStream(saved), promptIn };
const LIVE = {
  run: liveStream("stream", STREAM),
  hooks: liveStream("hook", { open: (saved) => new ClaudeHooks(saved), promptIn: () => null }),
  otlp: liveStream("telemetry", { open: (saved) => new ClaudeTelemetry(saved), promptIn: () => null }),
} as const;

export const provider: Provider = {
  ...claude,
  vendor: "anthropic",
  fastFactor,
  folders: ["projects", "sessions"],
  idForm: "a session id is a UUID such as 833fc0f4-0b5d-4c2e-9d3f-6c1de7a1b2c3",
  rootsForm: "`CLAUDE_CONFIG_DIR`, else `~/.claude` and `$XDG_CONFIG_HOME/claude` (default `~/.config/claude`)",
  roots(env, home) {
    const given = (env.CLAUDE_CONFIG_DIR ?? "").split(",").map((dir) => dir.trim());
    const dirs = given.filter((dir) => dir !== "");
    return dirs.length > 0 ? dirs : [`${home}/.claude`, `${env.XDG_CONFIG_HOME || `${home}/.config`}/claude`];
  },
  stream(path): FileStream | null {
    const found = locate(path);
    if (found === null) return null;
    const of = (shape: FileStream["shape"], open: FileStream["open"]): FileStream => ({ shape, open });
    switch (found.is) {
      case "thread":
        return of(
          "lines",
          (file: SourceFile, saved) =>
            new Transcript({ session: found.thread, fallback: found.stem, agent: null, run: null }, file, saved),
        );
      case "agent":
        return of(
          "lines",
          (file, saved) =>
            new Transcript(
              { session: found.thread, fallback: found.folder, agent: found.agent, run: found.run },
              file,
              saved,
            ),
        );
      case "agent-meta":
        return of("document", (file) => agentMeta(found.thread, found.agent, file));
      case "journal":
        return of("lines", (file) => workflowJournal(found.thread, found.run, file));
      case "workflow":
        return of("document", (file) => workflowSummary(found.thread, file));
      case "process":
        return { ...of("document", (file) => processMark(file)), fleeting: true };
      default:
        return found satisfies never;
    }
  },
  asSentence,
  beside: besideTranscript,
  recorded: (path) => liveAt(LIVE, path),
  wrap,
  printed: {
    form: "claude -p --output-format stream-json --verbose",
    recognise: isPrinted,
    stream: printedStream(STREAM),
  },
  hooks: hookSettings,
  skills: (env, home) => `${provider.roots(env, home)[0] ?? `${home}/.claude`}/skills`,
  telemetry: SERVICE,
  isThreadId: (id) => /^[0-9a-f-]{6,36}$/i.test(id),
  attach,
  isAgentId: (id) => /^[\w.@-]+$/.test(id),
  portable,
  wire,
};
