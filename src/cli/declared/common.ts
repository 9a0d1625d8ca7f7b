/** Options and texts that several commands share. */
import type { Command } from "commander";
import type { Context } from "../context.ts";
import type { Host } from "../terminal.ts";

/** Adds one command to the program. `open` makes the context of the command that is run. */
export type Declare = (program: Command, open: (command: Command) => Context, host: Host) => void;

export const URI = "<provider>://<thread>[/<agent>], a thread id, a prefix of one, or latest";

export function common(command: Command): Command {
  return command
    .showSuggestionAfterError(false)
    .option("--json", "print JSON")
    .option("--no-color", "no colours")
    .option("--quiet", "no messages on stderr")
    .option("--debug", "print what was read and how long it took");
}

export function serving(command: Command): Command {
  return command
    .option("--port <n>", "port to listen on; 0 for any free port (default: 4747, or another free port)")
    .option("--host <address>", "address to listen on; a token is required on non-loopback addresses")
    .option("--no-open", "do not open a browser");
}
