import { report } from "./failure.ts";
import { buildProgram, usageFor, withUnknownCommand } from "./program.ts";

// A reader such as `head` may go before we are done; that is its right and no error.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const program = buildProgram();
try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(withUnknownCommand(error, program), { debug: process.argv.includes("--debug"), usage: usageFor(program, process.argv.slice(2)) });
}
