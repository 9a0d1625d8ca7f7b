import type { Provider } from "../../../src/core/ports/provider.ts";
import { liveAt, liveStream, printedStream } from "../../../src/providers/kit/live-stream.ts";
import { ExampleHooks, hookSettings } from "./hooks.ts";
import { example } from "./manifest.ts";
import { ExampleStream, isPrinted, wrap } from "./stream.ts";
import { Transcript } from "./transcript.ts";
import { wire } from "./wire.ts";

const STREAM = { open: () => new ExampleStream(), promptIn: () => null };
const LIVE = {
  run: liveStream("stream", STREAM),
  hooks: liveStream("hook", { open: (saved) => new ExampleHooks(saved), promptIn: () => null }),
} as const;

export const provider: Provider = {
  ...example,
  vendor: "example",
  folders: ["threads"],
  idForm: "a thread id looks like ex-42",
  rootsForm: "`EXAMPLE_HOME`, else `~/.example`",
  roots: (env, home) => [env.EXAMPLE_HOME || `${home}/.example`],
  stream(path) {
    const id = /^threads\/(ex-\w+)\.jsonl$/.exec(path)?.[1];
    return id === undefined ? null : { shape: "lines", open: (file, saved) => new Transcript(id, file, saved) };
  },
  recorded: (path) => liveAt(LIVE, path),
  wrap,
  printed: { form: "example run --json", recognise: isPrinted, stream: printedStream(STREAM) },
  hooks: hookSettings,
  isThreadId: (id) => /^ex-\w+$/.test(id),
  isAgentId: (id) => /^[\w-]+$/.test(id),
  wire,
};
