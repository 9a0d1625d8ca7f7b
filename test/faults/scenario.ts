/** A fault, again and again, and what must be the same afterwards as if it had never happened. */
import type { Random } from "../../scripts/bench/random.ts";

export interface Scenario {
  readonly name: string;
  /** What happens to the process or to its files. */
  readonly fault: string;
  /** A share of all kills, compared with the other scenarios; or, for other faults, how often each is tried. */
  readonly weight?: number;
  readonly times?: number;
  /** How often it is tried in `npm test`. */
  readonly few: number;
  /** Why it cannot be tried here; null where it can. */
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
  /** How often it happened. */
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
