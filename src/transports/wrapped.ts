import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import type { RunEnded } from "../core/ports/run-note.ts";
import { MAX_RECORD } from "../core/tools/limits.ts";
import { type FinalInput, startFinalInput } from "./final-input.ts";
import { NO_STANDBY, type StandbyOptions, startStandby } from "./standby.ts";
import { launch, signalsOf } from "./system/launch.ts";
import { openPipe } from "./system/pipe.ts";

export interface WrapOptions {
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Called with each line before the line is passed on. If omitted, the command inherits our stdout. */
  readonly onLine?: (line: string) => void;
  /** Where the output of the command is written; null: nowhere. */
  readonly output: Writable | null;
  /** What is written in place of a line; null for nothing. If omitted, the output is written unchanged. */
  readonly shown?: (line: string) => string | null;
  /** Whether `write` is possible; otherwise the command inherits our stdin. */
  readonly listens?: boolean;
  /** Discards the command's stderr; otherwise the command inherits ours. */
  readonly isQuiet?: boolean;
  /**
   * The standby that continues to read the output if this process is killed, see `startStandby`. Without one, the
   * command's next write then fails.
   */
  readonly standby?: (pid: number) => Pick<StandbyOptions, "command" | "input">;
}

export interface Wrapped {
  readonly pid: number;
  /** Resolves when the command has ended and all its output was passed on. */
  readonly ended: Promise<RunEnded>;
  /** Returns false once the command no longer reads its stdin. */
  write(line: string): boolean;
  /** These lines are written if this process is killed before `endInput`. Not on Windows. */
  setFinalInput(lines: readonly string[]): void;
  /** Closes its stdin. */
  endInput(): void;
  kill(signal: NodeJS.Signals): void;
}

const NEWLINE = 10;

/**
 * Runs a command with the same input, output, terminal and exit code as without us. Rejects if it cannot be started.
 */
export async function wrap({
  command,
  env,
  cwd,
  onLine,
  output,
  shown,
  listens,
  isQuiet,
  standby,
}: WrapOptions): Promise<Wrapped> {
  const reads = onLine !== undefined || output === null;
  const pipe = reads ? openPipe() : null;
  const stdio = [
    listens === true ? "pipe" : "inherit",
    reads ? (pipe?.writes ?? "pipe") : "inherit",
    isQuiet === true ? "ignore" : "inherit",
  ] as const;
  const { program, args, ...how } = launch(command, env);
  const child = spawn(program, args, { env, stdio: [...stdio], ...how, ...(cwd === undefined ? {} : { cwd }) });
  // The command has its own copy.
  if (pipe !== null) closeSync(pipe.writes);
  const from = pipe === null ? child.stdout : new Socket({ fd: pipe.reads, readable: true, writable: false });
  const started = new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const isRead = from === null ? null : new Promise<void>((resolve) => from.once("close", () => resolve()));
  if (from !== null) {
    const holder =
      standby === undefined || child.pid === undefined
        ? NO_STANDBY
        : startStandby({ ...standby(child.pid), env, reads: from, writes: output === process.stdout });
    passOn(from, output, onLine ?? (() => {}), holder, shown);
  }
  // The command may close its stdin at any time.
  child.stdin?.on("error", () => {});
  const closed = new Promise<RunEnded>((resolve) => child.once("close", (code, signal) => resolve({ code, signal })));
  const ended = Promise.all([closed, isRead]).then(([end]) => end);
  await started;
  let finalInput: FinalInput | null = null;
  void ended.then(() => finalInput?.end());
  return {
    pid: child.pid ?? 0,
    ended,
    write: (line) => {
      if (child.stdin?.writable !== true) return false;
      child.stdin.write(`${line}\n`);
      return true;
    },
    setFinalInput: (lines) => {
      if (child.stdin?.writable !== true) return;
      finalInput ??= startFinalInput(child.stdin, env);
      finalInput.set(lines.map((line) => `${line}\n`).join(""));
    },
    endInput: () => {
      finalInput?.end();
      child.stdin?.end();
    },
    kill: (signal) => void send(child, signal),
  };
}

function send(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.exitCode === null && child.signalCode === null) child.kill(signal);
}

/**
 * Records data, then passes it on, unchanged unless `shown` replaces its lines. If the consumer closes its end, closes
 * ours too, so that the command's next write fails as it would without us.
 */
export function passOn(
  from: Readable,
  to: Writable | null,
  onLine: (line: string) => void,
  standby = NO_STANDBY,
  shown?: (line: string) => string | null,
) {
  let replaced = "";
  const lines = new Lines((line) => {
    onLine(line);
    const text = shown?.(line) ?? null;
    if (text !== null) replaced += `${text}\n`;
  });
  const outputOf = (chunk: Buffer) => {
    if (shown === undefined) return chunk;
    const output = replaced;
    replaced = "";
    return output;
  };
  from.on("data", (chunk: Buffer) => {
    standby.hold(chunk);
    lines.push(chunk);
    // Before the write: the consumer may run right after it, and a crash in between would pass the chunk on twice.
    standby.drop();
    const output = outputOf(chunk);
    if (to === null || output.length === 0 || to.write(output)) return;
    from.pause();
    to.once("drain", () => from.resume());
  });
  from.once("end", () => {
    lines.end();
    if (replaced !== "") to?.write(replaced);
  });
  from.once("close", () => standby.end());
  from.on("error", () => {});
  to?.on("error", () => {
    standby.end();
    from.destroy();
  });
}

/** Splits bytes into lines. Lines longer than any record are skipped. */
class Lines {
  readonly #onLine: (line: string) => void;
  #parts: Buffer[] = [];
  #bytes = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#add(chunk.subarray(start, end));
      this.end();
      start = end + 1;
    }
    this.#add(chunk.subarray(start));
  }

  #add(part: Buffer) {
    this.#bytes += part.length;
    if (this.#bytes > MAX_RECORD) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  end() {
    const line = this.#bytes > MAX_RECORD ? "" : Buffer.concat(this.#parts).toString("utf8");
    this.#parts = [];
    this.#bytes = 0;
    if (line.trim() !== "") this.#onLine(line);
  }
}

/** Signals to this process are forwarded to the command, except those that a terminal sends to both. */
const { forwarded: FORWARDED, fromTerminal: FROM_TERMINAL } = signalsOf(process.platform);

/** Forwards signals; returns a function that stops it. */
export function forwardSignals({ kill }: Pick<Wrapped, "kill">): () => void {
  const { stdin, stdout, stderr } = process;
  const isForeground = [stdin, stdout, stderr].some((stream) => stream.isTTY);
  const handlers = [...FORWARDED, ...FROM_TERMINAL].map((signal) => {
    const handler = () => {
      if (!(isForeground && FROM_TERMINAL.some((one) => one === signal))) kill(signal);
    };
    process.on(signal, handler);
    return () => process.off(signal, handler);
  });
  return () => {
    for (const off of handlers) off();
  };
}

/** Exits like the command, with its code or signal. */
export function endAs({ code, signal }: RunEnded): void {
  if (signal === null) {
    process.exitCode = code ?? 1;
    return;
  }
  process.exitCode = 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
  process.kill(process.pid, signal);
}
