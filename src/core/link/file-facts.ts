import type { AgentKey } from "../facts/ids.ts";
import { byTime, type Observation } from "../facts/observation.ts";
import { cached } from "../tools/collections.ts";
import { type BulkFact, Fold, isBulk } from "./fold.ts";
import { byPlace, isStated } from "./totals.ts";

/** Approximate memory of a fact that is not folded. */
export const FACT_BYTES = 1_000;

/** The facts of a file that only grows: bulk facts folded by speaker, the others as they are. */
export class FileFacts {
  readonly observations: Observation[] = [];
  readonly #path: string;
  /** Reads every fact that was added, for processing one by one. */
  #all: () => Iterable<Observation>;
  readonly #folds = new Map<AgentKey, Fold>();
  #last: Fold | null = null;

  constructor(path: string, all: () => Iterable<Observation> = () => []) {
    this.#path = path;
    this.#all = all;
  }

  /** The facts were stored: from now on, those that are not in memory are read with `all`. */
  readWith(all: () => Iterable<Observation>): void {
    this.#all = all;
  }

  get folds(): readonly Fold[] {
    return [...this.#folds.values()];
  }

  get bytes(): number {
    return this.folds.reduce((sum, fold) => sum + fold.bytes, FACT_BYTES * this.observations.length);
  }

  /** False if the facts were added too far out of order. Added sorted, they may still be folded. */
  get isExact(): boolean {
    return this.folds.every((fold) => fold.isExact);
  }

  /** Adds appended facts, in any order. */
  add(facts: Iterable<Observation>): void {
    const [bulk, stated]: [BulkFact[], Observation[]] = [[], []];
    for (const fact of facts) {
      if (isBulk(fact)) bulk.push(fact);
      else this.observations.push(fact);
      if (isStated(fact)) stated.push(fact);
    }
    for (const fact of stated.sort(byPlace)) this.#foldOf(fact.speaker).addStated(fact);
    for (const fact of bulk.sort(byTime)) this.#foldOf(fact.speaker).add(fact);
  }

  /** Adds the facts of one record, while a file is read from its beginning. */
  addRecord(facts: readonly Observation[]): void {
    for (const fact of facts) {
      if (isStated(fact)) this.#foldOf(fact.speaker).addStated(fact);
      if (!isBulk(fact)) this.observations.push(fact);
    }
    for (const fact of facts) if (isBulk(fact)) this.#foldOf(fact.speaker).add(fact);
  }

  #foldOf(speaker: AgentKey): Fold {
    if (this.#last?.speaker === speaker) return this.#last;
    this.#last = cached(this.#folds, speaker, () => new Fold(speaker, this.#path, () => this.#bulkOf(speaker)));
    return this.#last;
  }

  #bulkOf(speaker: AgentKey): BulkFact[] {
    const facts: BulkFact[] = [];
    for (const o of this.#all()) if (isBulk(o) && o.speaker === speaker) facts.push(o);
    return facts;
  }
}
