import { writeFileSync } from "node:fs";
import { Failure } from "../app/failure.ts";
import { visible } from "../core/visible.ts";

/** Prints a document, or writes it for nobody else's eyes. A terminal gets it made harmless, a program as it is. */
export function give(text: string, out: string | undefined): void {
  if (out === undefined) return void process.stdout.write(process.stdout.isTTY ? visible(text) : text);
  try {
    writeFileSync(out, text, { mode: 0o600 });
  } catch (error) {
    throw new Failure("failed", `cannot write ${out}: ${(error as Error).message}`, [], error);
  }
}

/** Until somebody interrupts. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}
