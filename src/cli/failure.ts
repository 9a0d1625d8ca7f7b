import { CommanderError } from "commander";
import { asFailure, type FailureCode } from "../app/failure.ts";
import { printable } from "./render/printable.ts";

const EXIT: Readonly<Record<FailureCode, number>> = { usage: 2, not_found: 1, failed: 1, unavailable: 1 };

/** The one place where an error becomes words on stderr and an exit code. */
export function report(error: unknown, options: { readonly debug: boolean; readonly usage: string }): number {
  if (error instanceof CommanderError) {
    // Help and version were asked for and are printed already.
    if (error.exitCode === 0) return 0;
    say(error.message.replace(/^error: /, ""), [options.usage]);
    return EXIT.usage;
  }
  const failure = asFailure(error);
  if (failure !== null) {
    say(failure.message, failure.next);
    if (options.debug && failure.cause !== undefined) console.error(failure.cause);
    return EXIT[failure.code];
  }
  say(error instanceof Error ? error.message : String(error), ["this is a bug in retinue; run again with --debug and report what it prints"]);
  if (options.debug) console.error(error);
  return EXIT.failed;
}

function say(message: string, next: readonly string[]) {
  process.stderr.write(printable([`retinue: ${message}`, ...next.map((line) => `  ${line}`), ""].join("\n")));
}
