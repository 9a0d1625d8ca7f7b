import { spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import { unnamedFile, writeWhole } from "./standby.ts";

/** Text that a command receives on its stdin if this process is killed. */
export interface FinalInput {
  set(text: string): void;
  /** Ends the shell that keeps stdin open, so that the command sees the end of its input when this process closes it. */
  end(): void;
}

const NO_FINAL_INPUT: FinalInput = { set() {}, end() {} };

/** The kernel closes the other end of descriptor 3 when this process dies; only then `read` returns. */
const SCRIPT = "read -r _ <&3; cat <&5 >&4";

/**
 * Keeps the stdin of a command open until the text was written, if this process is killed. A waiting shell does this. It
 * has its own session, so that signals to our process group or terminal do not reach it.
 */
export function startFinalInput(input: Writable, env: NodeJS.ProcessEnv): FinalInput {
  // Windows has no /bin/sh.
  const text = process.platform === "win32" ? null : unnamedFile();
  if (text === null) return NO_FINAL_INPUT;
  const shell = spawn("/bin/sh", ["-c", SCRIPT], {
    detached: true,
    env,
    stdio: ["ignore", "ignore", "ignore", "pipe", input, text],
  });
  // If it cannot be started, the command runs without it.
  shell.on("error", () => {});
  const exitPipe = shell.stdio[3] as Socket;
  exitPipe.on("error", () => {});
  exitPipe.unref();
  shell.unref();
  return { set: writeWhole(text), end: () => void shell.kill("SIGKILL") };
}
