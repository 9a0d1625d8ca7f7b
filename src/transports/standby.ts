import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";

export interface StandbyOptions {
  /** Runs once this process is dead, with `input` as its input. */
  readonly command: readonly string[];
  readonly input: string;
  readonly env: NodeJS.ProcessEnv;
  /** The pipe that must stay open. The command has it as descriptor `STANDBY_READS`. */
  readonly reads: Readable;
  /** The command writes to our standard output; otherwise nowhere. */
  readonly writes: boolean;
}

/** Call `hold` with what was read from the pipe before anything is done with it, and `drop` when it was dealt with. */
export interface Standby {
  hold(chunk: Uint8Array): void;
  drop(): void;
  /** Ends it, so that nothing keeps the pipe open but this process. */
  end(): void;
}

export const NO_STANDBY: Standby = { hold() {}, drop() {}, end() {} };

export const STANDBY_READS = 4;
const HELD = 5;

/** The kernel closes the other end of descriptor 3 when this process dies, however it dies: `read` returns then, and not before. */
const SCRIPT = 'read -r _ <&3; exec "$@" 3<&-';

/**
 * A process that holds a pipe open beyond our death, so that whoever writes to it does not die of EPIPE. It is a shell that waits; only when this process
 * is gone, it becomes the command. It has a session of its own: a signal to our process group or from our terminal does not reach it.
 */
export function startStandby({ command, input, env, reads, writes }: StandbyOptions): Standby {
  // There is no /bin/sh on Windows.
  if (process.platform === "win32") return NO_STANDBY;
  const [given, held] = [unnamedFile(input), unnamedFile()];
  const standby = spawn("/bin/sh", ["-c", SCRIPT, "sh", ...command], {
    detached: true,
    env,
    stdio: [given ?? "ignore", writes ? "inherit" : "ignore", "ignore", "pipe", reads, held ?? "ignore"],
  });
  // Where it cannot be started, the command runs without it.
  standby.on("error", () => {});
  const lifeline = standby.stdio[3] as Socket;
  lifeline.on("error", () => {});
  lifeline.unref();
  standby.unref();
  if (given !== null) closeSync(given);
  // Node stops reading a stream that it hands to another process.
  reads.resume();
  return { ...(held === null ? NO_STANDBY : holderIn(held)), end: () => void standby.kill("SIGKILL") };
}

/** In the command: what its predecessor had read and not dealt with. */
export function heldBytes(): Buffer {
  try {
    const bytes = Buffer.alloc(fstatSync(HELD).size);
    return bytes.subarray(0, readSync(HELD, bytes, 0, bytes.length, 0));
  } catch {
    // There was no room for such a file.
    return Buffer.alloc(0);
  }
}

function holderIn(file: number): Pick<Standby, "hold" | "drop"> {
  let isFull = false;
  const attempt = (write: () => void) => {
    try {
      if (!isFull) write();
    } catch {
      // A full disk is no reason to stop: from now on our death may cost what is being passed on.
      isFull = true;
    }
  };
  return { hold: (chunk) => attempt(() => writeSync(file, chunk, 0, chunk.length, 0)), drop: () => attempt(() => ftruncateSync(file)) };
}

/** A file that only those have who were handed its descriptor; null where there is no room for one. */
function unnamedFile(text = ""): number | null {
  const path = join(tmpdir(), `retinue-${randomBytes(12).toString("hex")}`);
  try {
    const file = openSync(path, "wx+", 0o600);
    rmSync(path);
    writeSync(file, text, 0);
    return file;
  } catch {
    // No room, or no right to write there.
    return null;
  }
}
