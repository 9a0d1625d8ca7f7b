/** The facts of files that grow, folded as they arrive. */

import { fileOf } from "../../src/core/facts/ids.ts";
import type { Observation } from "../../src/core/facts/observation.ts";
import { FileFacts } from "../../src/core/link/file-facts.ts";
import type { Fold } from "../../src/core/link/fold.ts";

export class GrowingFacts {
  readonly #files = new Map<string, { readonly facts: FileFacts; readonly all: Observation[] }>();

  /** Facts of one file must be in the order of that file. */
  add(facts: readonly Observation[]): void {
    for (const [path, more] of Map.groupBy(facts, ({ id }) => fileOf(id))) {
      const all = this.#files.get(path)?.all ?? [];
      const file = this.#files.get(path) ?? { facts: new FileFacts(path, () => all), all };
      this.#files.set(path, file);
      for (const fact of more) all.push(fact);
      file.facts.add(more);
    }
  }

  /** Facts that are not folded. */
  get unfolded(): Observation[] {
    return [...this.#files.values()].flatMap(({ facts }) => facts.observations);
  }

  get folds(): Fold[] {
    return [...this.#files.values()].flatMap(({ facts }) => facts.folds);
  }
}
