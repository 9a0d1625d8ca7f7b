import { writeFileSync } from "node:fs";
import { Failure } from "../app/failure.ts";
import { visible } from "../core/tools/visible.ts";
import type { Host } from "./terminal.ts";

/**
 * Prints a document, or writes it to a file that only the user can read. Control characters are escaped on a terminal
 * only.
 */
export function writeOutput(text: string, out: string | undefined, { stdout }: Pick<Host, "stdout">): void {
  if (out === undefined) return void stdout.write(stdout.isTTY ? visible(text) : text);
  try {
    writeFileSync(out, text, { mode: 0o600 });
  } catch (error) {
    throw new Failure("failed", `cannot write ${out}: ${(error as Error).message}`, [], error);
  }
}

/** The signals that end a command which runs until it is stopped. SIGHUP: its terminal was closed. */
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls the handler on the first signal to stop. A second signal of the same kind ends the process at once. */
export function onStopSignal(handler: () => void): void {
  for (const signal of STOP_SIGNALS) process.once(signal, handler);
}

/** Resolves on the first signal to stop. */
export const untilStopSignal = () => new Promise<void>((resolve) => onStopSignal(resolve));

/** Aborted by the first signal to stop. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  onStopSignal(() => stop.abort());
  return stop.signal;
}
