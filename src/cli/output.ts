import { writeFileSync } from "node:fs";
import { Failure } from "../app/failure.ts";

/** Prints it, or writes it for nobody else's eyes. */
export function give(text: string, out: string | undefined): void {
  if (out === undefined) return void process.stdout.write(text);
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
