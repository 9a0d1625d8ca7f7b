/** The real server on a temporary home. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMPILED, MAIN } from "../support/cli.ts";
import { FIXTURES } from "../support/fixtures.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface Running {
  readonly url: string;
  readonly home: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A temporary home with these recordings, named `<provider>/<case>`, so that tests may write there. */
export function homeWith(recordings: readonly string[]): string {
  const home = mkdtempSync(join(tmpdir(), "retinue-dashboard-"));
  for (const name of recordings) {
    const from = join(FIXTURES, name, "home");
    if (!existsSync(from)) throw new Error(`there is no recording ${name}`);
    cpSync(from, home, { recursive: true });
  }
  return home;
}

export async function serve(home: string): Promise<Running> {
  if (!existsSync(join(ROOT, "dist/web/index.html"))) throw new Error("the dashboard is not built: npm run build");
  const data = mkdtempSync(join(tmpdir(), "retinue-dashboard-data-"));
  const child = spawn(process.execPath, [MAIN, "serve", "--no-open", "--port", "0"], {
    env: { PATH: process.env.PATH ?? "", ...COMPILED, HOME: home, RETINUE_HOME: data },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  const url = await addressOf(child);
  let isStopping = false;
  // Reports a crash of the server rather than the failed requests that follow from it.
  child.once("exit", (code, signal) => {
    if (!isStopping) process.stderr.write(`the server ended with ${code ?? signal}: ${output}\n`);
  });
  return {
    url,
    home,
    pid: child.pid ?? 0,
    stop: async () => {
      isStopping = true;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
      for (const folder of [home, data]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const listen = (chunk: Buffer) => {
      output += chunk.toString();
      const [url] = /http:\/\/\S+/.exec(output) ?? [];
      if (url !== undefined) resolve(url.replace(/\/$/, ""));
    };
    child.stdout?.on("data", listen);
    child.stderr?.on("data", listen);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${output}`)));
  });
}
