import { isRepaired } from "./context.ts";
import { report } from "./failure.ts";
import { buildProgram, usageFor, withUnknownCommand } from "./program.ts";

// EPIPE: a reader such as `head` may close the pipe early.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// A command that has printed output cannot be repeated.
let isPrinted = false;
const write = process.stdout.write.bind(process.stdout);
process.stdout.write = ((...args: Parameters<typeof write>) => {
  isPrinted = true;
  return write(...args);
}) as typeof write;

const program = buildProgram();
try {
  await program.parseAsync().catch(async (error: unknown) => {
    if (isPrinted || !(await isRepaired(error))) throw error;
    await buildProgram().parseAsync();
  });
} catch (error) {
  process.exitCode = report(withUnknownCommand(error, program), {
    debug: process.argv.includes("--debug"),
    usage: usageFor(program, process.argv.slice(2)),
  });
}
