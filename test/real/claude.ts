/** Runs the real Claude Code, headless, in a home of its own that is thrown away afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install } from "./install.ts";

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

export interface Run {
  ended: Promise<Ended>;
  /** Sends a signal to the CLI and whatever it started. */
  signalGroup(signal: NodeJS.Signals): void;
}

export interface Sandbox {
  home: string;
  start(prompt: string, flags?: string[]): Run;
  /** Runs to the end; an exit code other than 0 is an error. */
  run(prompt: string, flags?: string[]): Promise<void>;
  dispose(): Promise<void>;
}

const RUN_TIMEOUT_MS = 45_000;

export function installClaude(version: string): Promise<string[]> {
  const native = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`;
  return install({ package: "@anthropic-ai/claude-code", version, programs: [native, "@anthropic-ai/claude-code/cli.js"] });
}

export async function openSandbox(command: string[], modelUrl: string, extraEnv: Record<string, string> = {}): Promise<Sandbox> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "retinue-real-")));
  const [home, project, temp] = ["home", "project", "tmp"].map((name) => join(folder, name)) as [string, string, string];
  for (const path of [home, project, temp]) await mkdir(path);
  await writeFile(join(project, "a.txt"), "alpha\n");
  const env = { ...cleanEnvironment(home, temp, modelUrl), ...extraEnv };
  const running = new Map<ChildProcess, Run>();

  const start: Sandbox["start"] = (prompt, flags = []) => {
    const [program = "", ...args] = [...command, "-p", prompt, "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions", ...flags];
    // A group of its own, so that a signal reaches the CLI and its children and nobody else.
    const child = spawn(program, args, { cwd: project, env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
    const run: Run = { ended: untilEnd(child), signalGroup: (signal) => signalGroup(child, signal) };
    running.set(child, run);
    const forget = () => running.delete(child);
    run.ended.then(forget, forget);
    return run;
  };

  return {
    home,
    start,
    async run(prompt, flags) {
      const { code, signal, stderr } = await start(prompt, flags).ended;
      if (code !== 0) throw new Error(`claude ended with ${signal ?? `exit code ${code}`}: ${stderr.slice(-2000)}`);
    },
    async dispose() {
      const left = [...running.values()];
      for (const run of left) run.signalGroup("SIGKILL");
      await Promise.allSettled(left.map((run) => run.ended));
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Nothing of the caller's own settings or account; no traffic but the model's. */
function cleanEnvironment(home: string, temp: string, modelUrl: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "",
    HOME: home,
    TMPDIR: temp,
    CLAUDE_CODE_TMPDIR: temp,
    TERM: "dumb",
    LANG: "C.UTF-8",
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: "not-a-key",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    // Lets the superuser of a container skip permissions.
    IS_SANDBOX: "1",
  };
}

export function untilEnd(child: ChildProcess, name = "claude"): Promise<Ended> {
  let stderr = "";
  child.stderr?.on("data", (data) => {
    stderr += data;
  });
  return new Promise((resolve, reject) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      signalGroup(child, "SIGKILL");
    }, RUN_TIMEOUT_MS);
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      clearTimeout(timer);
      // Ends what it left behind in its group.
      signalGroup(child, "SIGKILL");
      if (late) reject(new Error(`${name} did not end within ${RUN_TIMEOUT_MS} ms: ${stderr.slice(-2000)}`));
      else resolve({ code, signal, stderr });
    });
  });
}

export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
