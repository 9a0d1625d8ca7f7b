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

/** Aborted by SIGINT, SIGTERM or SIGHUP. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}
