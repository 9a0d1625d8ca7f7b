import { randomBytes } from "node:crypto";
import type { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import type { AgentKey } from "../core/ids.ts";
import type { Control, Provider, Wrapping } from "../core/provider.ts";
import type { RunEnded } from "../core/run-note.ts";
import { PROVIDERS } from "../providers/index.ts";
import { run as unknownCommand } from "../providers/run/index.ts";
import { markOf } from "../transports/processes.ts";
import { type WrapOptions, type Wrapped, wrap } from "../transports/wrapped.ts";
import { Failure } from "./failure.ts";
import type { Env } from "./home.ts";
import { RunOutput } from "./run-output.ts";
import type { RunInProgress } from "./run-standby.ts";

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

/** Starts it, and records what it prints before anybody else gets it. Its lines tell which product it is; the command tells only where they do not. */
export async function start({ command, provider, wrapping }: Launch, options: StartOptions): Promise<Running> {
  const { env, cwd = process.cwd(), onLine: hear, ...rest } = options;
  const name = runName();
  const isSpeaking = wrapping?.speaks === true;
  // A terminal is the command's own: what draws on it must find it there.
  const reads = isSpeaking || rest.output === null || (rest.output as Partial<NodeJS.WriteStream>).isTTY !== true;
  const hasFallback = wrapping === null || isSpeaking;
  const output = new RunOutput(env, name, provider, hasFallback ? provider : null);
  const standby = (pid: number) => ({
    command: [process.execPath, STANDBY_FILE],
    input: JSON.stringify({ name, provider: provider.name, hasFallback, began: { command, cwd, process: markOf(pid) } } satisfies RunInProgress),
  });
  const onLine = (line: string) => {
    output.line(line);
    hear?.(line);
  };
  const wrapped = await wrap({ command, env: env as NodeJS.ProcessEnv, cwd, ...rest, ...(reads ? { onLine, standby } : {}) } satisfies WrapOptions);
  output.began({ command, cwd, process: markOf(wrapped.pid) }, { isKnown: !reads, isTold: rest.output === null });
  const ended = wrapped.ended.then((end: RunEnded) => {
    output.ended(end);
    return end;
  });
  return { ...wrapped, ended, thread: output.thread };
}

const STANDBY_FILE = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "./run-standby.ts" : "./run-standby.js", import.meta.url));

/** In order of time, so that a listing reads well. */
const runName = () => `${new Date().toISOString().replace(/[-:]|\.\d+Z$/g, "")}-${randomBytes(4).toString("hex")}`;
