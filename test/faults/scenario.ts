/** A fault that is repeated, and the state that must be the same afterwards as without it. */
import type { Random } from "../../scripts/bench/random.ts";

export interface Scenario {
  readonly name: string;
  /** The fault that affects the process or its files. */
  readonly fault: string;
  /** Its share of all kills, relative to the other scenarios; or, for other faults, how often each is run. */
  readonly weight?: number;
  readonly times?: number;
  /** How often it is run in `npm test`. */
  readonly few: number;
  /** Why it cannot run here; null if it can. */
  readonly cannot?: () => string | null;
  run(stage: Stage): Promise<Outcome>;
}

export interface Stage {
  /** A folder of its own, removed afterwards. */
  readonly scratch: string;
  readonly times: number;
  readonly random: Random;
}

export interface Outcome {
  /** How often the fault occurred. */
  readonly faults: number;
  /** What is missing or different, one line each. */
  readonly losses: readonly string[];
  readonly duplicates: readonly string[];
  /** Files and processes that were left behind. */
  readonly leftovers: readonly string[];
}

/** Collects outcomes of several rounds. */
export class Tally implements Outcome {
  faults = 0;
  readonly losses: string[] = [];
  readonly duplicates: string[] = [];
  readonly leftovers: string[] = [];
}
