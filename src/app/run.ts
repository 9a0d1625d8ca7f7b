import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { type AgentKey, threadKey, threadOf } from "../core/ids.ts";
import type { Control, Parser, Provider, Wrapping } from "../core/provider.ts";
import { recordedLine } from "../core/recording.ts";
import { beganNote, endedNote, type RunEnded } from "../core/run-note.ts";
import { PROVIDERS } from "../providers/index.ts";
import { run as unknownCommand } from "../providers/run/index.ts";
import { markOf } from "../transports/processes.ts";
import { Recorder } from "../transports/recorder.ts";
import { type WrapOptions, type Wrapped, wrap } from "../transports/wrapped.ts";
import { Failure } from "./failure.ts";
import { type Env, recordingsRoot } from "./home.ts";

export { endAs, forwardSignals } from "../transports/wrapped.ts";

/** A command, and whose it is. */
export interface Launch {
  readonly command: readonly string[];
  readonly provider: Provider;
  /** Null for a command that nobody knows: it is run and timed. */
  readonly wrapping: Wrapping | null;
}

export function launchOf(command: readonly string[]): Launch {
  for (const provider of PROVIDERS) {
    const wrapping = provider.wrap?.(command) ?? null;
    if (wrapping !== null) return { command, provider, wrapping };
  }
  return { command, provider: unknownCommand, wrapping: null };
}

/** The same, made to tell what it does. */
export function speaking(launch: Launch): Launch {
  const { wrapping, provider } = launch;
  if (wrapping === null) return launch;
  if (wrapping.speaking === null)
    throw new Failure("usage", `this command of ${provider.product} talks to a person, not to a program`, [
      "run it without a terminal, the way its scripts do",
    ]);
  return { ...launch, command: wrapping.speaking, wrapping: { ...wrapping, speaks: true } };
}

/** The same, made to listen as well, and what can be said to it. */
export function listening(launch: Launch): { readonly launch: Launch; readonly control: Control | null } {
  const speaks = speaking(launch);
  const control = speaks.wrapping?.control ?? null;
  return { launch: control === null ? speaks : { ...speaks, command: control.listening }, control };
}

export interface Running extends Wrapped {
  /** The thread it runs, as soon as it says so; null if it ended without a word of it. */
  readonly thread: Promise<AgentKey | null>;
  /** Where it is recorded; null where there is nothing to record, as it writes everything down itself. */
  readonly recording: string | null;
}

export interface StartOptions {
  readonly env: Env;
  readonly output: Writable | null;
  readonly cwd?: string;
  readonly listens?: boolean;
  readonly isQuiet?: boolean;
  /** Told of each line after it was recorded. */
  readonly onLine?: (line: string) => void;
}

/** Starts it, and records what it prints before anybody else gets it. */
export async function start({ command, provider, wrapping }: Launch, options: StartOptions): Promise<Running> {
  const { env, cwd = process.cwd(), onLine: hear, ...rest } = options;
  const isKnown = wrapping !== null;
  const name = runName();
  const inside = `run/${name}.jsonl`;
  const recording = isKnown && !wrapping.speaks ? null : join(recordingsRoot(env, provider.name), inside);
  const recorder = recording === null ? null : new Recorder(recording);
  const threads = new ThreadFinder(isKnown ? (provider.recorded?.(inside)?.open({ path: inside, bytes: 0 }) ?? null) : null);
  const onLine = (line: string) => {
    recorder?.line(line);
    threads.hear(line);
    hear?.(line);
  };
  const wrapped = await wrap({ command, env: env as NodeJS.ProcessEnv, cwd, ...rest, ...(isKnown && wrapping.speaks ? { onLine } : {}) } satisfies WrapOptions);
  recorder?.note(beganNote({ command, cwd, process: markOf(wrapped.pid) }));
  if (!isKnown) threads.found(threadKey(provider.name, name));
  const ended = wrapped.ended.then((end: RunEnded) => {
    recorder?.note(endedNote(end));
    recorder?.close();
    threads.found(null);
    return end;
  });
  return { ...wrapped, ended, thread: threads.thread, recording };
}

/** In order of time, so that a listing reads well. */
const runName = () => `${new Date().toISOString().replace(/[-:]|\.\d+Z$/g, "")}-${randomBytes(4).toString("hex")}`;

/** Reads along until the stream has named its thread. */
class ThreadFinder {
  readonly #parser: Parser | null;
  #line = 0;
  #isDone = false;
  readonly thread: Promise<AgentKey | null>;
  readonly #resolve: (thread: AgentKey | null) => void;

  constructor(parser: Parser | null) {
    this.#parser = parser;
    const { promise, resolve } = Promise.withResolvers<AgentKey | null>();
    this.thread = promise;
    this.#resolve = resolve;
  }

  hear(line: string): void {
    if (this.#isDone || this.#parser === null) return;
    this.#line += 1;
    const [first] = this.#parser.push(Buffer.from(recordedLine(line, Date.now())), this.#line).observations;
    if (first !== undefined) this.found(threadOf(first.speaker));
  }

  found(thread: AgentKey | null): void {
    this.#isDone = true;
    this.#resolve(thread);
  }
}
