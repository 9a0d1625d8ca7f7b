/** Runs a real product, headless, in a home of its own that is thrown away afterwards. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

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

/** What a product is started with. */
export interface Launch {
  command: string[];
  /** Nothing of the caller's own settings or account is in it but what is named here. */
  env: Record<string, string>;
}

export interface Places {
  home: string;
  temp: string;
}

const RUN_TIMEOUT_MS = 45_000;

/** `prepare` may write into the new home, and says how the product is started there. */
export async function openHome(prepare: (places: Places) => Promise<Launch>, args: (prompt: string, flags: string[]) => string[]): Promise<Sandbox> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "retinue-real-")));
  const [home, project, temp] = ["home", "project", "tmp"].map((name) => join(folder, name)) as [string, string, string];
  for (const path of [home, project, temp]) await mkdir(path);
  await writeFile(join(project, "a.txt"), "alpha\n");
  const { command, env: own } = await prepare({ home, temp });
  const env = { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: temp, TERM: "dumb", LANG: "C.UTF-8", ...own };
  const running = new Map<ChildProcess, Run>();

  const start: Sandbox["start"] = (prompt, flags = []) => {
    const [program = "", ...rest] = [...command, ...args(prompt, flags)];
    // A group of its own, so that a signal reaches the CLI and its children and nobody else.
    const child = spawn(program, rest, { cwd: project, env, detached: true, stdio: ["ignore", "ignore", "pipe"] });
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
      if (code !== 0) throw new Error(`it ended with ${signal ?? `exit code ${code}`}: ${stderr.slice(-2000)}`);
    },
    async dispose() {
      const left = [...running.values()];
      for (const run of left) run.signalGroup("SIGKILL");
      await Promise.allSettled(left.map((run) => run.ended));
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function untilEnd(child: ChildProcess): Promise<Ended> {
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
      if (late) reject(new Error(`it did not end within ${RUN_TIMEOUT_MS} ms: ${stderr.slice(-2000)}`));
      else resolve({ code, signal, stderr });
    });
  });
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
