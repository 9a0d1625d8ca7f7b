import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";

export interface StandbyOptions {
  /** Started when this process has ended, with `input` as stdin. */
  readonly command: readonly string[];
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  /** The pipe to keep open. The command gets it as descriptor `STANDBY_READS`. */
  readonly reads: Readable;
  /** Whether the command writes to our stdout. */
  readonly writes: boolean;
}

/** The caller passes data from the pipe to `hold` before it processes them, and calls `drop` afterwards. */
export interface Standby {
  hold(chunk: Uint8Array): void;
  drop(): void;
  /** Ends the standby, so that only this process keeps the pipe open. */
  end(): void;
}

export const NO_STANDBY: Standby = { hold() {}, drop() {}, end() {} };

export const STANDBY_READS = 4;
const HELD = 5;

/** The kernel closes the other end of descriptor 3 when this process dies; only then `read` returns. */
const SCRIPT = 'read -r _ <&3; exec "$@" 3<&-';

/**
 * A process that keeps a pipe open if this process is killed, so that its writer does not get EPIPE. It is a waiting
 * shell that becomes the command when this process has ended. It has its own session, so that signals to our process
 * group or terminal do not reach it.
 */
export function startStandby({ command, input, env, reads, writes }: StandbyOptions): Standby {
  // Windows has no /bin/sh.
  if (process.platform === "win32") return NO_STANDBY;
  const [given, held] = [unnamedFile(input), unnamedFile()];
  const standby = spawn("/bin/sh", ["-c", SCRIPT, "sh", ...command], {
    detached: true,
    env,
    stdio: [given ?? "ignore", writes ? "inherit" : "ignore", "ignore", "pipe", reads, held ?? "ignore"],
  });
  // If it cannot be started, the command runs without it.
  standby.on("error", () => {});
  const exitPipe = standby.stdio[3] as Socket;
  exitPipe.on("error", () => {});
  exitPipe.unref();
  standby.unref();
  if (given !== null) closeSync(given);
  // Node pauses a stream that is passed to another process.
  reads.resume();
  return { ...(held === null ? NO_STANDBY : holderIn(held)), end: () => void standby.kill("SIGKILL") };
}

/** Called by the standby command: the data that the killed process had read but not processed. */
export function heldBytes(): Buffer {
  try {
    const bytes = Buffer.alloc(fstatSync(HELD).size);
    return bytes.subarray(0, readSync(HELD, bytes, 0, bytes.length, 0));
  } catch {
    // The file could not be created.
    return Buffer.alloc(0);
  }
}

/** Keeps the data in a file that the standby command inherits. */
function holderIn(file: number): Pick<Standby, "hold" | "drop"> {
  let isFull = false;
  const attempt = (write: () => void) => {
    try {
      if (!isFull) write();
    } catch {
      // On a full disk continue without it; a crash may then lose the data in transit.
      isFull = true;
    }
  };
  return {
    hold: (chunk) => attempt(() => writeSync(file, chunk, 0, chunk.length, 0)),
    drop: () => attempt(() => ftruncateSync(file)),
  };
}

/** Replaces the content of such a file. On a full disk the old content is removed. */
export const writeWhole = (file: number) => (text: string) => {
  try {
    ftruncateSync(file);
    writeSync(file, text, 0);
  } catch {
    // Nothing else can be done: the command receives nothing then.
    ftruncateSync(file);
  }
};

/** An unlinked file, accessible only through its descriptor; null if it cannot be created. */
export function unnamedFile(text = ""): number | null {
  const path = join(tmpdir(), `retinue-${randomBytes(12).toString("hex")}`);
  try {
    const file = openSync(path, "wx+", 0o600);
    rmSync(path);
    writeSync(file, text, 0);
    return file;
  } catch {
    // No space or no permission.
    return null;
  }
}
