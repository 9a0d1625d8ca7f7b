import type { AgentKey } from "../../core/facts/ids.ts";
import { byTime, type Observation } from "../../core/facts/observation.ts";
import { type BulkFact, Fold, isBulk } from "../../core/link/fold.ts";
import { byPlace, isStated } from "../../core/link/totals.ts";
import type { Facts } from "../../core/ports/store.ts";

/** About as much memory as a fact takes that is not folded. */
export const FACT_BYTES = 1_000;

/** The facts of an append-only file: bulk facts folded by speaker, the others as they are. */
export class FileFacts implements Pick<Facts, "observations" | "folds"> {
  readonly observations: Observation[] = [];
  readonly #path: string;
  readonly #all: () => readonly Observation[];
  readonly #folds = new Map<AgentKey, Fold>();

  /** `all` returns every fact that was added, for processing one by one. */
  constructor(path: string, all: () => readonly Observation[]) {
    this.#path = path;
    this.#all = all;
  }

  get folds(): readonly Fold[] {
    return [...this.#folds.values()];
  }

  get bytes(): number {
    return this.folds.reduce((sum, fold) => sum + fold.bytes, FACT_BYTES * this.observations.length);
  }

  /** What was appended; in any order. */
  add(facts: readonly Observation[]): void {
    const bulk: BulkFact[] = [];
    for (const fact of facts) {
      if (isBulk(fact)) bulk.push(fact);
      else this.observations.push(fact);
    }
    for (const fact of facts.filter(isStated).sort(byPlace)) this.#foldOf(fact.speaker).addStated(fact);
    for (const fact of bulk.sort(byTime)) this.#foldOf(fact.speaker).add(fact);
  }

  #foldOf(speaker: AgentKey): Fold {
    const known = this.#folds.get(speaker);
    if (known !== undefined) return known;
    const fold = new Fold(speaker, this.#path, () =>
      this.#all().filter((o): o is BulkFact => isBulk(o) && o.speaker === speaker),
    );
    this.#folds.set(speaker, fold);
    return fold;
  }
}
