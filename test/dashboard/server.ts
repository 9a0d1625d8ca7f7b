/** Starts the real server with a temporary home. */
import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMPILED, MAIN } from "../support/cli.ts";
import { FIXTURES } from "../support/fixtures.ts";

const ROOT = join(import.meta.dirname, "../..");

export interface Running {
  readonly url: string;
  readonly home: string;
  readonly pid: number;
  /** The session cookie of a team server; null for a local server. */
  readonly cookie: string | null;
  get(path: string): Promise<Response>;
  json<T>(path: string): Promise<T>;
  stop(): Promise<void>;
}

/** A temporary, writable home with copies of these recordings, named `<provider>/<case>`. */
export function homeWith(recordings: readonly string[]): string {
  const home = mkdtempSync(join(tmpdir(), "retinue-dashboard-"));
  for (const name of recordings) {
    const from = join(FIXTURES, name, "home");
    if (!existsSync(from)) throw new Error(`there is no recording ${name}`);
    cpSync(from, home, { recursive: true });
  }
  return home;
}

export const temporaryData = () => mkdtempSync(join(tmpdir(), "retinue-dashboard-data-"));

export async function serve(
  home: string,
  { env = {}, settings }: { readonly env?: Readonly<Record<string, string>>; readonly settings?: string } = {},
): Promise<Running> {
  if (!existsSync(join(ROOT, "dist/web/index.html"))) throw new Error("the dashboard is not built: npm run build");
  const data = temporaryData();
  const config = join(data, "settings.yaml");
  if (settings !== undefined) writeFileSync(config, settings);
  const child = spawn(process.execPath, [MAIN, "serve", "--no-open", "--port", "0"], {
    env: {
      PATH: process.env.PATH ?? "",
      ...COMPILED,
      HOME: home,
      RETINUE_HOME: data,
      ...(settings === undefined ? {} : { RETINUE_CONFIG: config }),
      ...env,
    },
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
  const get = (path: string) => fetch(new URL(path, url));
  return {
    url,
    home,
    pid: child.pid ?? 0,
    cookie: null,
    get,
    json: async <T>(path: string) => (await (await get(path)).json()) as T,
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

/** Opens a session with a token and returns its cookie. */
export async function cookieOf(url: string, token: string): Promise<string> {
  const response = await fetch(`${url}/api/session`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
  const [, cookie] = /retinue_team=([^;]+)/.exec(response.headers.get("set-cookie") ?? "") ?? [];
  if (cookie === undefined) throw new Error(`no session: ${response.status} ${await response.text()}`);
  return cookie;
}
