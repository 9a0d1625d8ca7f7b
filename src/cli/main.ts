import { runCli } from "./cli.ts";

// EPIPE: a reader such as `head` may close the pipe early.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

const code = await runCli(process.argv.slice(2), process);
if (code !== null) process.exitCode = code;
