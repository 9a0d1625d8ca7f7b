import { inspect } from "node:util";
import { CommanderError } from "commander";
import { asFailure, type FailureCode } from "../app/failure.ts";
import { visible } from "../core/tools/visible.ts";
import type { Host } from "./terminal.ts";

const EXIT: Readonly<Record<FailureCode, number>> = { usage: 2, not_found: 1, failed: 1, unavailable: 1 };

/** The only place that turns an error into a message on stderr and an exit code. */
export function report(
  error: unknown,
  { stderr }: Pick<Host, "stderr">,
  options: { readonly debug: boolean; readonly usage: string },
): number {
  const print = (message: string, next: readonly string[]) =>
    stderr.write(visible([`retinue: ${message}`, ...next.map((line) => `  ${line}`), ""].join("\n")));
  // Escaped, because a stack trace repeats the message, which may quote a transcript.
  const trace = (thrown: unknown) => stderr.write(`${visible(inspect(thrown))}\n`);
  if (error instanceof CommanderError) {
    // --help and --version; already printed.
    if (error.exitCode === 0) return 0;
    print(error.message.replace(/^error: /, ""), [options.usage]);
    return EXIT.usage;
  }
  const failure = asFailure(error);
  if (failure !== null) {
    print(failure.message, failure.next);
    if (options.debug && failure.cause !== undefined) trace(failure.cause);
    return EXIT[failure.code];
  }
  print(error instanceof Error ? error.message : String(error), [
    "this is a bug in retinue; run it again with --debug and report the output",
  ]);
  if (options.debug) trace(error);
  return EXIT.failed;
}
