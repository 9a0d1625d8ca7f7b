/** Runs retinue as a separate process that can be killed at any moment. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { COMPILED, MAIN } from "../support/cli.ts";

export type Environment = Readonly<Record<string, string>>;

/** The complete environment of the process. */
export const environment = (home: string, data: string, more: Environment = {}): Environment => ({
  PATH: process.env.PATH ?? "",
  ...COMPILED,
  HOME: home,
  TMPDIR: join(data, ".."),
  RETINUE_HOME: data,
  ...more,
});

export class Run {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly ended: Promise<number | NodeJS.Signals | null>;

  constructor(
    args: readonly string[],
    env: Environment,
    { node = [], input }: { readonly node?: readonly string[]; readonly input?: string } = {},
  ) {
    this.child = spawn(process.execPath, [...node, MAIN, ...args], {
      env,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    this.child.stdin?.end(input);
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.ended = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve(signal ?? code)));
  }

  get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The first line that it prints: the address of a server. Null if it ends before. */
  async firstLine(): Promise<string | null> {
    while (!this.stdout.includes("\n") && !this.isOver) await wait(5);
    return /^(\S+)\n/.exec(this.stdout)?.[1] ?? null;
  }

  /** True if it was still running. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<boolean> {
    const wasRunning = !this.isOver;
    this.child.kill(signal);
    await this.ended;
    return wasRunning && this.child.signalCode === signal;
  }

  async killAfter(ms: number): Promise<boolean> {
    await Promise.race([wait(ms), this.ended]);
    return this.kill();
  }
}

const PATIENCE_MS = 60_000;

/** Whether the condition becomes true in time. */
export async function holdsInTime(
  condition: () => boolean | Promise<boolean>,
  patienceMs = PATIENCE_MS,
): Promise<boolean> {
  for (const end = Date.now() + patienceMs; Date.now() < end; await wait(50)) if (await condition()) return true;
  return false;
}
