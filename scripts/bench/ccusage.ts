import { chmodSync } from "node:fs";
import { install } from "../../test/real/install.ts";

/** The most widely used tool of its kind. Its native program is run directly, without the wrapper script. */
export const CCUSAGE = "20.0.24";

/** Installed once, outside the repository. */
export async function ccusageProgram(): Promise<string> {
  const [program] = await install({
    package: "ccusage",
    version: CCUSAGE,
    programs: [`@ccusage/ccusage-${process.platform}-${process.arch}/bin/ccusage`],
  });
  if (program === undefined) throw new Error("ccusage has no program for this machine");
  // The file in the package is not executable.
  chmodSync(program, 0o755);
  return program;
}
