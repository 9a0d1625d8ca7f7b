import type { Observation } from "../../src/core/facts/observation.ts";
import type { Facts } from "../../src/core/ports/store.ts";

/** All facts of a store, including the folded ones. */
export const allFacts = ({ observations, folds }: Pick<Facts, "observations" | "folds">): readonly Observation[] => [
  ...observations,
  ...folds.flatMap((fold) => fold.facts()),
];
