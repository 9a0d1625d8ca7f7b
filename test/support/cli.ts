/** Runs the command line the way a person's shell would, in a home of the test's choosing. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { homeEnv, isOnlyRecorded } from "./fixtures.ts";

export const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
/** Hundreds of short runs load the same modules; without this, loading them is most of the time. */
const COMPILED = join(tmpdir(), "retinue-test-compiled");
const MAX_BYTES = 64 * 1024 * 1024;

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Only what is named here is in the environment: no CLAUDE_CONFIG_DIR, no colours, no width. */
export function retinue(
  home: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  // A fresh one each time: what one home made us keep must not be seen in another.
  const data = mkdtempSync(join(tmpdir(), "retinue-test-"));
  if (isOnlyRecorded(home)) cpSync(join(home, "../recordings"), join(data, "recordings"), { recursive: true });
  const childEnv = {
    PATH: process.env.PATH ?? "",
    ...homeEnv(home),
    RETINUE_HOME: data,
    NODE_COMPILE_CACHE: COMPILED,
    ...env,
  };
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [MAIN, ...args],
      { env: childEnv, maxBuffer: MAX_BYTES },
      (error, stdout, stderr) => {
        rmSync(data, { recursive: true, force: true });
        if (error !== null && child.exitCode === null) reject(error);
        else resolve({ code: child.exitCode ?? 0, stdout, stderr });
      },
    );
  });
}

export async function retinueJson(home: string, args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await retinue(home, [...args, "--json"]);
  if (code !== 0) throw new Error(`retinue ${args.join(" ")} exits with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}
