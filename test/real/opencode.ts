/** Runs the real OpenCode, headless, in a temporary home. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { install } from "./install.ts";
import { Group, type Run } from "./process.ts";
import type { Launch } from "./sandbox.ts";

/** It reads many files when it starts. */
const UP_WITHIN_MS = 120_000;
/** Requests during its start never get a response, and are repeated. */
const UP_ANSWER_MS = 5_000;
const ANSWER_MS = 60_000;

export interface OpenCode {
  home: string;
  launch: Launch & { cwd: string };
  start(prompt: string): Run;
  /** As a server that requires a password. */
  serve(password: string, env?: Record<string, string>): Promise<Serving>;
  dispose(): Promise<void>;
}

export interface Serving {
  readonly url: string;
  ask<T>(method: string, path: string, body?: unknown): Promise<T>;
}

export function installOpenCode(version: string): Promise<string[]> {
  const programs = ["", "-baseline"].map((kind) => `opencode-${process.platform}-${process.arch}${kind}/bin/opencode`);
  return install({ package: "opencode-ai", version, programs });
}

export async function openOpenCode(command: string[], modelUrl: string, extra: object): Promise<OpenCode> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "retinue-real-")));
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  await mkdir(project, { recursive: true });
  await writeSettings(home, { ...configuration(modelUrl), ...extra });
  await writeFile(join(project, "a.txt"), "alpha\n");
  execFileSync("git", ["init", "-q", "-b", "main"], {
    cwd: project,
    env: { PATH: process.env.PATH ?? "", HOME: home },
  });
  const group = new Group();

  return {
    home,
    launch: { command, env: environment(home), cwd: project },
    start: (prompt) =>
      group.start([...command, "run", "--format", "json", prompt], { cwd: project, env: environment(home) }),
    async serve(password, env = {}) {
      const port = await freePort();
      const secret = { ...env, OPENCODE_SERVER_PASSWORD: password };
      group.start([...command, "serve", "--hostname", "127.0.0.1", "--port", String(port)], {
        cwd: project,
        env: { ...environment(home), ...secret },
      });
      const url = `http://127.0.0.1:${port}`;
      const headers = {
        Authorization: `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`,
        "Content-Type": "application/json",
      };
      const send = (method: string, path: string, body?: unknown, patience = ANSWER_MS) =>
        fetch(`${url}${path}`, {
          method,
          headers,
          signal: AbortSignal.timeout(patience),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
      const isUp = () =>
        send("GET", "/global/health", undefined, UP_ANSWER_MS).then(
          ({ ok }) => ok,
          () => false,
        );
      for (const end = Date.now() + UP_WITHIN_MS; !(await isUp()); await wait(50))
        if (Date.now() > end) throw new Error("the server does not answer");
      return {
        url,
        ask: async <T>(method: string, path: string, body?: unknown) => {
          const answer = await send(method, path, body);
          const text = await answer.text();
          if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
          return (text === "" ? null : JSON.parse(text)) as T;
        },
      };
    },
    async dispose() {
      await group.endAll();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Settings without which it would install one of its packages at start. */
export async function writeSettings(home: string, settings: object): Promise<void> {
  const folder = join(home, ".config", "opencode");
  const own = { dependencies: { "@opencode-ai/plugin": "*" } };
  await mkdir(join(folder, "node_modules"), { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify(own));
  await writeFile(join(folder, "package-lock.json"), JSON.stringify({ lockfileVersion: 3, packages: { "": own } }));
  await writeFile(join(folder, "opencode.json"), JSON.stringify(settings));
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

export function configuration(baseURL: string) {
  const model = {
    name: "Scripted",
    tool_call: true,
    reasoning: true,
    limit: { context: 200_000, output: 8_192 },
    cost: { input: 1, output: 2, cache_read: 0.1 },
  };
  return {
    model: "scripted/model-1",
    small_model: "scripted/model-1",
    share: "disabled",
    autoupdate: false,
    lsp: false,
    formatter: false,
    snapshot: false,
    enabled_providers: ["scripted"],
    // Children may have children.
    agent: { general: { permission: { task: "allow" } } },
    provider: {
      scripted: {
        npm: "@ai-sdk/openai-compatible",
        name: "Scripted",
        options: { baseURL, apiKey: "not-a-key" },
        models: { "model-1": model },
      },
    },
  };
}

/** None of the caller's own settings; no traffic except to the model. */
export function environment(home: string): Record<string, string> {
  const off = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "EXTERNAL_SKILLS", "CLAUDE_CODE"].map(
    (name) => [`OPENCODE_DISABLE_${name}`, "1"],
  );
  return {
    PATH: process.env.PATH ?? "",
    HOME: home,
    XDG_DATA_HOME: join(home, ".local/share"),
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CACHE_HOME: join(home, ".cache"),
    TERM: "dumb",
    LANG: "C.UTF-8",
    OPENCODE_PURE: "1",
    ...Object.fromEntries(off),
  };
}
