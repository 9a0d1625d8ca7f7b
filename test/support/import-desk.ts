/** For tests that import the output of agents. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type CliResult, COMPILED, MAIN, retinue } from "./cli.ts";
import { FIXTURES } from "./fixtures.ts";

/** An empty desk of a user, or one with a copy of this home. Removed after the test. */
export function desk(home?: string) {
  const folder = mkdtempSync(join(tmpdir(), "retinue-streams-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const data = join(folder, "data");
  if (home !== undefined) cpSync(home, folder, { recursive: true });
  const run = (...args: string[]): Promise<CliResult> => retinue(folder, args, { RETINUE_HOME: data });
  const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await run(...args, "--json")).stdout) as T;
  const file = (text: string | Buffer, name = "stream.jsonl") => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const piped = (text: string | Buffer) => retinue(folder, ["import", "-"], { RETINUE_HOME: data }, text);
  /** Through a pipe between processes. */
  const pipedToProcess = (text: string) => {
    const env = { PATH: process.env.PATH ?? "", ...COMPILED, HOME: folder, RETINUE_HOME: data };
    const { status, stdout } = spawnSync(process.execPath, [MAIN, "import", "-"], { env, input: text });
    return { code: status, stdout: stdout.toString() };
  };
  return { folder, data, run, json, file, piped, pipedToProcess };
}

/** The product's output, without the times at which it was recorded. */
export const printed = (path: string) =>
  readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => {
      const { raw } = JSON.parse(line) as { raw?: object };
      return raw === undefined ? [] : [`${JSON.stringify(raw)}\n`];
    })
    .join("");
/** The first output of a recording. */
export const streamOf = (provider: string, name: string) =>
  printed(join(FIXTURES, provider, name, "recordings", provider, "run/stdout.jsonl"));
