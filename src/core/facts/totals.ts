import type { Amounts } from "./usage.ts";

/** A record shows a model call of the product that is not recorded itself. */
export interface ModelCallMissing {
  readonly type: "model-call-missing";
  /** A short description. */
  readonly what: string;
  /** `own`: on the model of the agent whose records show it. `any`: on any model. */
  readonly on: "own" | "any";
  /** True if it was exactly one call. */
  readonly one: boolean;
}

/** The usage that the product reports for a thread so far, including all its agents. */
export interface TotalStated {
  readonly type: "total-stated";
  readonly byModel: readonly ModelTotal[];
  /** Null if the product does not know it. */
  readonly costUsd: number | null;
  /** When counting began. A process that continues an earlier total keeps its start. */
  readonly began: number | null;
  /** Total running time of the processes in it, in milliseconds. */
  readonly activeMs: number | null;
  /** For a total that is written after every response. */
  readonly running?: RunningTotal;
  /** For a total in a live source whose records do not contain the whole usage. */
  readonly printed?: PrintedTotal;
}

export interface ModelTotal {
  readonly model: string;
  readonly amounts: Amounts;
  /** Omitted if it is not stated for each model. */
  readonly costUsd?: number;
}

/**
 * What one process has used so far. Its output has neither the final counts nor all responses, so the rest of the usage
 * is known from this total alone.
 */
export interface PrintedTotal {
  /** Equal for all totals of the process, of which the last one counts, and in copies of its output. */
  readonly process: string;
  /** The part of the thread itself; the other parts are those of its agents and of internal work. */
  readonly own: Amounts;
}

/** A running total includes exactly the responses before it in its file. */
export interface RunningTotal {
  /** The first total of the thread may include the total of the thread that it was forked from. */
  readonly mayContinueFork: boolean;
}
