/** A proxy in front of an upstream, and the content of its recording. */
import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Machine, readMachine } from "../../src/app/machine.ts";
import { recorderWork } from "../../src/app/proxy/recorder-work.ts";
import { type ProxyRun, runProxy } from "../../src/app/proxy/run.ts";
import { type StartRecorder, type ToRecorder, threadOf } from "../../src/app/proxy/traffic-recorder.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";

export interface Proxied {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly messages: readonly string[];
  readonly folder: string;
  /** Resolves once everything recorded so far is on disk. */
  stop(): Promise<void>;
  /** The result of reading the recording. */
  read(): Promise<Machine>;
  dispose(): Promise<void>;
}

/**
 * The built file. From source, every thread would load the WebAssembly module by which Node.js strips types, and V8
 * crashes (`ThreadIsolation::UnregisterWasmAllocation`) when one process starts and ends hundreds of such threads.
 */
export const ownThread = threadOf(new URL("../../dist/app/proxy/recorder-thread.js", import.meta.url));

/** Records in this thread: a new one costs as much as the rest of most tests. */
const inThisThread: StartRecorder = (start) => {
  const thread = new EventEmitter();
  const work = recorderWork(
    start,
    (message) => setImmediate(() => thread.emit("message", message)),
    () => setImmediate(() => thread.emit("exit")),
  );
  return Object.assign(thread, {
    postMessage: (message: ToRecorder) => void setImmediate(() => work(message)),
    ref: () => {},
    unref: () => {},
  });
};

/** Far in the future, so that every agent counts as ended. */
export const readLater = (env: Proxied["env"]): Promise<Machine> =>
  readMachine({ env, now: () => Date.now() + 3_600_000 });

export async function startProxied(upstream: string, options: Partial<ProxyRun> = {}): Promise<Proxied> {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-proxy-"));
  const home = join(scratch, "home");
  mkdirSync(home);
  const env = { PATH: process.env.PATH ?? "", HOME: home, RETINUE_HOME: join(scratch, "data") };
  const messages: string[] = [];
  const running = await runProxy({
    env,
    settings: await loadSettings(env),
    port: 0,
    host: "127.0.0.1",
    upstream: new URL(upstream),
    via: null,
    silenceMs: 60_000,
    redaction: null,
    notify: (text) => messages.push(text),
    recorder: inThisThread,
    ...options,
  });
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await running.stop();
    isStopped = true;
  };
  return {
    url: running.url,
    env,
    messages,
    folder: running.folder,
    stop,
    read: () => readLater(env),
    async dispose() {
      await stop();
      rmSync(scratch, { recursive: true, maxRetries: 3 });
    },
  };
}
