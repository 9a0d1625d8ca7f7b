import type { Library } from "../app/ingest/library.ts";
import { report } from "./failure.ts";
import { buildProgram, usageFor, withUnknownCommand } from "./program.ts";
import type { Host } from "./terminal.ts";

/**
 * Runs one command line and returns its exit code; null if the command succeeded, or has set `process.exitCode` itself,
 * as `run` does. Commands that run until a signal (`serve`, `run`, `watch`, `relay`, `proxy`) need the real process as
 * host.
 */
export async function runCli(args: readonly string[], host: Host): Promise<number | null> {
  const libraries: Library[] = [];
  // A command that has printed output cannot be repeated.
  let isPrinted = false;
  const { stdout } = host;
  const { write } = stdout;
  stdout.write = ((...given: Parameters<typeof write>) => {
    isPrinted = true;
    return write.apply(stdout, given);
  }) as typeof write;
  const program = buildProgram(host, (library) => libraries.push(library));
  try {
    await program.parseAsync(args, { from: "user" }).catch(async (error: unknown) => {
      if (isPrinted || !(await isRepaired(libraries.at(-1), error))) throw error;
      await buildProgram(host, (library) => libraries.push(library)).parseAsync(args, { from: "user" });
    });
    return null;
  } catch (error) {
    const options = { debug: args.includes("--debug"), usage: usageFor(program, args) };
    return report(withUnknownCommand(error, program), host, options);
  } finally {
    stdout.write = write;
    for (const library of libraries) library.close();
  }
}

/**
 * Returns true if the command failed because of a damaged index. The index has been rebuilt, and the command may run
 * again.
 */
async function isRepaired(library: Library | undefined, error: unknown): Promise<boolean> {
  if (library === undefined || !library.index.reportFault(error)) return false;
  await library.refreshPaths([]);
  library.close();
  return true;
}
