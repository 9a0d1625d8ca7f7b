import { execFile, spawnSync } from "node:child_process";

/** A program of the operating system. Called with a fixed locale and time zone, which affect its output. */
export interface Tool {
  readonly program: string;
  readonly args: readonly string[];
}

export interface Printed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Null if the program is missing or timed out. */
export interface Runner {
  now(tool: Tool): Printed | null;
  later(tool: Tool, done: (printed: Printed | null) => void): void;
}

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 32 << 20;

const options = () => ({
  env: { ...process.env, LC_ALL: "C", TZ: "UTC0" },
  timeout: TIMEOUT_MS,
  maxBuffer: MAX_BYTES,
  encoding: "utf8" as const,
  windowsHide: true,
});

export const programs: Runner = {
  now({ program, args }) {
    const { error, status, stdout, stderr } = spawnSync(program, [...args], options());
    return error === undefined && status !== null ? { code: status, stdout, stderr } : null;
  },
  later({ program, args }, done) {
    const child = execFile(program, [...args], options(), (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      done(typeof code === "number" ? { code, stdout, stderr } : null);
    });
    // Must not keep the process alive.
    for (const handle of [child, child.stdout, child.stderr]) (handle as { unref?: () => void } | null)?.unref?.();
  },
};

/**
 * The next call waits this many times as long as the last one took, so that polling uses only a few percent of a core.
 */
const PAUSE_FACTOR = 20;
const MIN_PAUSE_MS = 2_000;
/** Maximum age of a cached result. */
const MAX_AGE_MS = 60_000;

interface Result<T> {
  readonly value: T | null;
  readonly at: number;
  readonly pauseMs: number;
}

/**
 * The cached output of a tool, for synchronous callers. Only the first call waits; later results are fetched in the
 * background. Null: currently unknown.
 */
export class Polled<T> {
  readonly #tool: Tool;
  readonly #parse: (printed: Printed) => T | null;
  readonly #runner: Runner;
  readonly #clock: () => number;
  #result: Result<T> | null = null;
  #isAsking = false;

  constructor(
    tool: Tool,
    parse: (printed: Printed) => T | null,
    runner: Runner = programs,
    clock: () => number = () => performance.now(),
  ) {
    this.#tool = tool;
    this.#parse = parse;
    this.#runner = runner;
    this.#clock = clock;
  }

  now(): T | null {
    const began = this.#clock();
    const result = this.#result ?? this.#take(this.#runner.now(this.#tool), began);
    if (began - result.at >= result.pauseMs) this.#refresh(began);
    return this.#clock() - result.at > MAX_AGE_MS ? null : result.value;
  }

  #refresh(began: number): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#runner.later(this.#tool, (printed) => {
      this.#isAsking = false;
      this.#take(printed, began);
    });
  }

  #take(printed: Printed | null, began: number): Result<T> {
    const at = this.#clock();
    this.#result = {
      value: printed === null ? null : this.#parse(printed),
      at,
      pauseMs: Math.max(MIN_PAUSE_MS, PAUSE_FACTOR * (at - began)),
    };
    return this.#result;
  }
}
