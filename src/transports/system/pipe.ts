import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** The two ends of a pipe. */
export interface PipeEnds {
  readonly reads: number;
  readonly writes: number;
}

/**
 * A pipe of the kernel, as between the programs of a shell; null if it cannot be created. Node.js gives a command a pair
 * of sockets, which cannot be opened as `/dev/stdout`. On Linux a command that waits for room in them gets ECONNRESET
 * instead of SIGPIPE if the reader closes them. Other systems send SIGPIPE for both.
 */
export function openPipe(): PipeEnds | null {
  if (process.platform !== "linux") return null;
  const path = join(tmpdir(), `retinue-${randomBytes(12).toString("hex")}`);
  let reads: number | null = null;
  try {
    // Node.js has no function for it.
    execFileSync("mkfifo", ["-m", "600", path], { stdio: "ignore" });
    // Otherwise each end would wait for the other one.
    reads = openSync(path, O_RDONLY | O_NONBLOCK);
    return { reads, writes: openSync(path, O_WRONLY) };
  } catch {
    // No program of this name, or no room or permission in the temporary folder.
    if (reads !== null) closeSync(reads);
    return null;
  } finally {
    rmSync(path, { force: true });
  }
}
