import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Measurement {
  readonly wallSeconds: number;
  /** User and system time of the command and its child processes. */
  readonly cpuSeconds: number;
  readonly peakBytes: number;
  readonly stdout: string;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const TIME = "/usr/bin/time";
const TIMEOUT_MS = 15 * 60_000;
const MAX_OUTPUT = 1 << 30;

/** GNU and BSD `time` report the resource usage of a child; Node.js does not. */
const isGnu = spawnSync(TIME, ["-f", "%e", "true"]).status === 0;

/** Runs a command to its end. Throws if it fails or takes longer than 15 minutes. */
export function measure({ program, args, env }: Command): Measurement {
  const folder = mkdtempSync(join(tmpdir(), "retinue-measure-"));
  const report = join(folder, "time");
  try {
    const flags = isGnu ? ["-f", "%U %S %M", "-o", report] : ["-l", "-o", report];
    const began = performance.now();
    const stdout = execFileSync(TIME, [...flags, program, ...args], {
      env: { ...env },
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_OUTPUT,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
    const wallSeconds = (performance.now() - began) / 1_000;
    return {
      wallSeconds,
      stdout,
      ...(isGnu ? readGnu(readFileSync(report, "utf8")) : readBsd(readFileSync(report, "utf8"))),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The sum of commands that were run one after the other. */
export const inSequence = (runs: readonly Measurement[]): Measurement => ({
  wallSeconds: runs.reduce((sum, run) => sum + run.wallSeconds, 0),
  cpuSeconds: runs.reduce((sum, run) => sum + run.cpuSeconds, 0),
  peakBytes: Math.max(...runs.map((run) => run.peakBytes)),
  stdout: runs.map((run) => run.stdout).join(""),
});

function readGnu(report: string) {
  const [user = Number.NaN, system = Number.NaN, kilobytes = Number.NaN] = report.trim().split(" ").map(Number);
  return { cpuSeconds: user + system, peakBytes: kilobytes * 1_024 };
}

function readBsd(report: string) {
  const field = (name: RegExp) => Number(name.exec(report)?.[1]);
  return {
    cpuSeconds: field(/([\d.]+) user/) + field(/([\d.]+) sys/),
    peakBytes: field(/(\d+)\s+maximum resident set size/),
  };
}

/** The median of each value. */
export function median(runs: readonly Measurement[]): Measurement {
  const middle = (of: (run: Measurement) => number) =>
    runs.map(of).sort((a, b) => a - b)[Math.floor(runs.length / 2)] ?? Number.NaN;
  return {
    wallSeconds: middle((run) => run.wallSeconds),
    cpuSeconds: middle((run) => run.cpuSeconds),
    peakBytes: middle((run) => run.peakBytes),
    stdout: runs.at(-1)?.stdout ?? "",
  };
}
