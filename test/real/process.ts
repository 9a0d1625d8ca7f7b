/** Runs a product in its own process group, so that a signal reaches only it and the processes it started. */
import { type ChildProcess, spawn } from "node:child_process";

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

export interface Run {
  ended: Promise<Ended>;
  /** Its output so far; all of it once it has ended. */
  output(): string;
  /** Sends a signal to the CLI and the processes it started. */
  signalGroup(signal: NodeJS.Signals): void;
}

const RUN_TIMEOUT_MS = 300_000;

/** The processes of one sandbox. */
export class Group {
  readonly #running = new Map<ChildProcess, Run>();

  start([program = "", ...args]: readonly string[], options: { cwd: string; env: Record<string, string> }): Run {
    const child = spawn(program, args, { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const printed: Buffer[] = [];
    child.stdout.on("data", (part: Buffer) => printed.push(part));
    const closed = new Promise((resolve) => child.stdout.once("close", resolve));
    const ended = untilEnd(child).then(async (end) => {
      await closed;
      return end;
    });
    const run: Run = {
      ended,
      output: () => Buffer.concat(printed).toString("utf8"),
      signalGroup: (signal) => signalGroup(child, signal),
    };
    this.#running.set(child, run);
    const forget = () => this.#running.delete(child);
    run.ended.then(forget, forget);
    return run;
  }

  /** Runs to the end; an exit code other than 0 is an error. */
  async run(command: readonly string[], options: { cwd: string; env: Record<string, string> }): Promise<void> {
    const { code, signal, stderr } = await this.start(command, options).ended;
    if (code !== 0)
      throw new Error(`${command[0]} ended with ${signal ?? `exit code ${code}`}: ${stderr.slice(-2000)}`);
  }

  async endAll(): Promise<void> {
    const left = [...this.#running.values()];
    for (const run of left) run.signalGroup("SIGKILL");
    await Promise.allSettled(left.map((run) => run.ended));
  }
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
      // Ends remaining processes of its group.
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
