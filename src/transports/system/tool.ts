import { execFile, spawnSync } from "node:child_process";

/** A program of the operating system. Called with a fixed locale and time zone, since both change what it prints. */
export interface Tool {
  readonly program: string;
  readonly args: readonly string[];
}

export interface Printed {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Null where the program is missing or did not answer in time. */
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
    // A command that is done does not wait for it.
    for (const handle of [child, child.stdout, child.stderr]) (handle as { unref?: () => void } | null)?.unref?.();
  },
};

/** The next question waits this many times as long as the last answer took, so that asking never costs more than a few percent of a core. */
const REST_FACTOR = 20;
const MIN_REST_MS = 2_000;
/** An older answer is none. */
const MAX_AGE_MS = 60_000;

interface Answer<T> {
  readonly value: T | null;
  readonly at: number;
  readonly restMs: number;
}

/**
 * What a tool says, for callers that cannot wait. Only the first answer is waited for; later ones are fetched in the background
 * while the last one is given. Null: not known at the moment.
 */
export class Polled<T> {
  readonly #tool: Tool;
  readonly #parse: (printed: Printed) => T | null;
  readonly #runner: Runner;
  readonly #clock: () => number;
  #answer: Answer<T> | null = null;
  #isAsking = false;

  constructor(tool: Tool, parse: (printed: Printed) => T | null, runner: Runner = programs, clock: () => number = () => performance.now()) {
    this.#tool = tool;
    this.#parse = parse;
    this.#runner = runner;
    this.#clock = clock;
  }

  now(): T | null {
    const began = this.#clock();
    const answer = this.#answer ?? this.#take(this.#runner.now(this.#tool), began);
    if (began - answer.at >= answer.restMs) this.#refresh(began);
    return this.#clock() - answer.at > MAX_AGE_MS ? null : answer.value;
  }

  #refresh(began: number): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.#runner.later(this.#tool, (printed) => {
      this.#isAsking = false;
      this.#take(printed, began);
    });
  }

  #take(printed: Printed | null, began: number): Answer<T> {
    const at = this.#clock();
    this.#answer = { value: printed === null ? null : this.#parse(printed), at, restMs: Math.max(MIN_REST_MS, REST_FACTOR * (at - began)) };
    return this.#answer;
  }
}
