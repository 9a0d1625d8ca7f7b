import { randomBytes } from "node:crypto";
import type { Writable } from "node:stream";
import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { Control } from "../../core/ports/control.ts";
import type { Provider, Wrapping } from "../../core/ports/provider.ts";
import type { RunEnded } from "../../core/ports/run-note.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { run as unknownCommand } from "../../providers/run/index.ts";
import { markOf } from "../../transports/processes.ts";
import { type WrapOptions, type Wrapped, wrap } from "../../transports/wrapped.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { ownModule } from "../own-files.ts";
import { Channel, type ChannelOptions } from "./channel.ts";
import type { OpenGate } from "./gate.ts";
import type { InterceptionOptions } from "./interception.ts";
import { NotSupported } from "./not-supported.ts";
import { RunOutput } from "./run-output.ts";
import type { RunInProgress } from "./run-standby.ts";

export { endAs, forwardSignals } from "../../transports/wrapped.ts";

/** A command and its product. */
export interface Launch {
  readonly command: readonly string[];
  /** The command that the user gave, if another one runs in its place and its output is converted back. */
  readonly given?: readonly string[];
  readonly provider: Provider;
  /** Null for an unknown command: it is only run and timed. */
  readonly wrapping: Wrapping | null;
}

export function launchOf(command: readonly string[]): Launch {
  for (const provider of PROVIDERS) {
    const wrapping = provider.wrap?.(command) ?? null;
    if (wrapping !== null) return { command, provider, wrapping };
  }
  return { command, provider: unknownCommand, wrapping: null };
}

/** The same with machine-readable output. */
export function withJsonOutput(launch: Launch): Launch {
  const { wrapping, provider } = launch;
  if (wrapping === null) return launch;
  if (wrapping.withJsonOutput === null)
    throw new Failure("usage", `this command of ${provider.product} is interactive, or its output names no session`, [
      "use its non-interactive mode, or run it without --events: its records are read from its files",
    ]);
  return { ...launch, command: wrapping.withJsonOutput, wrapping: { ...wrapping, printsJson: true } };
}

/** The same with machine-readable input as well, and the messages to send. */
export function withJsonInput(launch: Launch): { readonly launch: Launch; readonly control: Control | null } {
  const withOutput = withJsonOutput(launch);
  const control = withOutput.wrapping?.control ?? null;
  return { launch: control === null ? withOutput : { ...withOutput, command: control.withJsonInput }, control };
}

export interface Running extends Pick<Wrapped, "pid" | "ended" | "endInput" | "kill"> {
  /** The thread, once known; null if the command ended without naming one. */
  readonly thread: Promise<AgentKey | null>;
  /** The stdin of the run; null if retinue does not control it. */
  readonly channel: Channel | null;
  /** Open if the product asks about its tool calls through a hook or plugin; otherwise null. */
  readonly gate: OpenGate | null;
}

export interface StartOptions extends ChannelOptions {
  readonly env: Env;
  readonly output: Writable | null;
  readonly cwd?: string;
  readonly listens?: boolean;
  readonly isQuiet?: boolean;
  /** Called with each line after it was recorded. */
  readonly onLine?: (line: string) => void;
  /** If retinue controls stdin: what it may write, and what is printed in place of a line. */
  readonly control?: Control | null;
}

/**
 * Starts the command and records each line before passing it on. Its lines identify the product; otherwise the command
 * line does.
 */
export async function start(launch: Launch, options: StartOptions): Promise<Running> {
  const { given, provider, wrapping } = launch;
  const {
    env,
    cwd = process.cwd(),
    control = null,
    interception,
    onIdle,
    onPermission,
    onLine: onRecordedLine,
    ...rest
  } = options;
  const gate = await gateFor(launch, control, env, interception);
  const command = gate?.command ?? launch.command;
  const name = runName();
  const printsJson = wrapping?.printsJson === true;
  // A terminal is passed through, because programs that draw on it must detect it.
  const reads = printsJson || rest.output === null || (rest.output as Partial<NodeJS.WriteStream>).isTTY !== true;
  const hasFallback = wrapping === null || printsJson;
  const output = new RunOutput(env, name, provider, hasFallback ? provider : null);
  const standby = (pid: number) => ({
    command: [process.execPath, ownModule("app/runs/run-standby")],
    input: JSON.stringify({
      name,
      provider: provider.name,
      hasFallback,
      given: given ?? null,
      began: { command, cwd, process: markOf(pid) },
    } satisfies RunInProgress),
  });
  let channel: Channel | null = null;
  const onLine = (line: string) => {
    output.line(line);
    channel?.onLine(line);
    onRecordedLine?.(line);
  };
  const wrapped = await wrap({
    command,
    env: (gate?.env ?? env) as NodeJS.ProcessEnv,
    cwd,
    ...rest,
    ...(control === null ? {} : { listens: true, shown: control.shown }),
    ...(reads ? { onLine, standby } : {}),
  } satisfies WrapOptions);
  output.began({ command, cwd, process: markOf(wrapped.pid) }, { isKnown: !reads, printsEvents: rest.output === null });
  const ended = wrapped.ended.then((end: RunEnded) => {
    output.ended(end);
    gate?.close();
    return end;
  });
  if (control !== null) {
    const session = output.thread.then((thread) => (thread === null ? null : partsOf(thread).thread));
    const ends = { provider, control, input: wrapped, ended, session, record: (line: string) => output.line(line) };
    channel = new Channel(ends, { interception, onIdle, onPermission });
  }
  const endInput = () => (channel === null ? wrapped.endInput() : channel.close());
  return { pid: wrapped.pid, kill: wrapped.kill, ended, endInput, thread: output.thread, channel, gate };
}

/** Null if no process decides about its calls, or its control messages announce them. */
async function gateFor(
  { command, provider }: Launch,
  control: Control | null,
  env: Env,
  interception: InterceptionOptions | undefined,
): Promise<OpenGate | null> {
  if (interception === undefined || interception.interceptors.length === 0) return null;
  if (control?.interception !== undefined) return null;
  const { gate } = provider;
  const opened =
    gate === undefined
      ? null
      : await (await import("./gate.ts")).openGate({ command, provider, gate }, env, interception);
  if (opened === null) throw new NotSupported(provider.product, "ask about its tool calls");
  return opened;
}

/** Sorts by time in listings. */
const runName = () => `${new Date().toISOString().replace(/[-:]|\.\d+Z$/g, "")}-${randomBytes(4).toString("hex")}`;
