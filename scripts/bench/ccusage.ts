import { chmodSync } from "node:fs";
import { install } from "../../test/real/install.ts";

/**
 * The fastest of its kind, and the one most people have. Its native program is asked directly, as its own wrapper does.
 */
export const CCUSAGE = "20.0.24";

/** Installed once, outside the repository. */
export async function ccusageProgram(): Promise<string> {
  const [program] = await install({
    package: "ccusage",
    version: CCUSAGE,
    programs: [`@ccusage/ccusage-${process.platform}-${process.arch}/bin/ccusage`],
  });
  if (program === undefined) throw new Error("ccusage has no program for this machine");
  // The package comes without the right to be run.
  chmodSync(program, 0o755);
  return program;
}
