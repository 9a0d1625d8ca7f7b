/** Homes with programs that are named like agents, for `retinue run`. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { afterAll } from "vitest";
import { COMPILED, MAIN, retinueJson } from "./cli.ts";
import { FIXTURES } from "./fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-run-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let homes = 0;

/** A new home with programs that are named like agents. */
export function stage() {
  const home = join(scratch, `home-${homes++}`);
  mkdirSync(home, { recursive: true });
  const env = { PATH: `${home}:${process.env.PATH}`, HOME: home, RETINUE_HOME: join(home, "data"), ...COMPILED };
  const program = (name: string, text: string) => {
    writeFileSync(join(home, name), `#!${process.execPath}\n${text}`);
    chmodSync(join(home, name), 0o755);
    return join(home, name);
  };
  const start = (args: readonly string[], stdio: ("pipe" | "ignore" | Readable)[] = ["pipe", "pipe", "pipe"]) =>
    spawn(process.execPath, [MAIN, "run", ...args], { env, stdio, cwd: home });
  const recordings = (provider: string) => {
    const folder = join(env.RETINUE_HOME, "recordings", provider, "run");
    return existsSync(folder) ? readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8")) : [];
  };
  return { home, env, program, start, recordings };
}

export async function outcome(child: ChildProcess, input?: Buffer) {
  const parts: Record<"stdout" | "stderr", Buffer[]> = { stdout: [], stderr: [] };
  child.stdout?.on("data", (part: Buffer) => parts.stdout.push(part));
  child.stderr?.on("data", (part: Buffer) => parts.stderr.push(part));
  child.stdin?.end(input);
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  return { code, signal, stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}

/** Every byte value, in pieces that split characters and lines. */
export const NOISE = `
const bytes = Buffer.alloc(300_000, 0).map((_, i) => (i * 7919) % 256);
for (let i = 0; i < bytes.length; i += 1237) process.stdout.write(bytes.subarray(i, i + 1237));
process.stderr.write(Buffer.from([0, 255, 10, 200]));
process.exitCode = 7;
`;
export const noise = Buffer.from(Buffer.alloc(300_000, 0).map((_, i) => (i * 7919) % 256));
/** A recorded stream, printed now. */
export const STREAM = readFileSync(join(FIXTURES, "claude/d-background/recordings/claude/run/stdout.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map(
    (line) =>
      `${JSON.stringify({ ...(JSON.parse(line) as { raw: object }).raw, timestamp: undefined }).replace(/"end_time":\d+/, '"end_time":null')}\n`,
  )
  .join("");
export const SESSION = "16ff625c-81fc-41a2-88cf-4b4069d6af28";
export const SPEAKING = ["-p", "hello", "--output-format", "stream-json"];

export const json = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  retinueJson(env.HOME ?? "", args, env);
