/**
 * Runs command lines in a given home. `retinue` runs them in the process of the test: the same parser, commands and
 * output, without starting Node.js. `retinueProcess` starts a process, as a shell would.
 */
import { execFile } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { Index, indexPath } from "../../src/app/ingest/index-file.ts";
import { runCli } from "../../src/cli/cli.ts";
import { homeEnv, isOnlyRecorded } from "./fixtures.ts";

/** The built program, as it is installed; test/support/global-setup.ts builds it. */
export const MAIN = join(import.meta.dirname, "../../bin/retinue.js");
/** One compile cache for all processes that tests start, outside of the homes that they read. */
export const COMPILED = { XDG_CACHE_HOME: join(tmpdir(), "retinue-test-cache") };
const MAX_BYTES = 64 * 1024 * 1024;

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Env = Readonly<Record<string, string>>;

/** Commands that control their process: signals, output, exit code. */
const NEED_A_PROCESS = new Set(["serve", "demo", "run", "watch", "relay", "proxy", "hook"]);

/** Runs in the process of the test. The environment contains only the given variables. */
export async function retinue(
  home: string,
  args: readonly string[],
  env: Env = {},
  stdin: string | Buffer = "",
): Promise<CliResult> {
  const [command = "serve"] = args;
  if (NEED_A_PROCESS.has(command)) throw new Error(`retinue ${command} needs a process of its own`);
  return inFreshData(home, env, async (whole) => {
    const [stdout, stderr] = [new Collected(), new Collected()];
    const code = await runCli(args, { env: whole, stdin: Readable.from([Buffer.from(stdin)]), stdout, stderr });
    return { code: code ?? 0, stdout: stdout.text, stderr: stderr.text };
  });
}

export async function retinueJson(home: string, args: readonly string[], env: Env = {}): Promise<unknown> {
  const { code, stdout, stderr } = await retinue(home, [...args, "--json"], env);
  if (code !== 0) throw new Error(`retinue ${args.join(" ")} exits with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** Runs the installed program in its own process, with the same environment. */
export function retinueProcess(home: string, args: readonly string[], env: Env = {}): Promise<CliResult> {
  const run = (whole: Env) =>
    new Promise<CliResult>((resolve, reject) => {
      const options = { env: { ...COMPILED, ...whole }, maxBuffer: MAX_BYTES };
      const child = execFile(process.execPath, [MAIN, ...args], options, (error, stdout, stderr) => {
        if (error !== null && child.exitCode === null) reject(error);
        else resolve({ code: child.exitCode ?? 0, stdout, stderr });
      });
    });
  return inFreshData(home, env, run);
}

/** No CLAUDE_CONFIG_DIR, no colours, no width. A fresh data folder, so that homes do not share an index. */
export async function inFreshData<T>(home: string, env: Env, work: (whole: Env) => Promise<T>): Promise<T> {
  const data = mkdtempSync(join(tmpdir(), "retinue-test-"));
  try {
    if (env.RETINUE_HOME === undefined) copyFileSync(await emptyIndex(), indexPath({ RETINUE_HOME: data }));
    if (isOnlyRecorded(home)) cpSync(join(home, "../recordings"), join(data, "recordings"), { recursive: true });
    return await work({ PATH: process.env.PATH ?? "", ...homeEnv(home), RETINUE_HOME: data, ...env });
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
}

/** An index without content: creating its tables takes longer than most command lines, so a worker does it once. */
let empty: Promise<string> | undefined;
function emptyIndex(): Promise<string> {
  const create = async () => {
    const env = { RETINUE_HOME: mkdtempSync(join(tmpdir(), "retinue-empty-")) };
    process.once("exit", () => rmSync(env.RETINUE_HOME, { recursive: true, force: true }));
    (await Index.open({ env, notify: () => {}, retries: false })).store.close();
    return indexPath(env);
  };
  empty ??= create();
  return empty;
}

class Collected extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString("utf8");
  }
}
