import type { ComparedAgent, ComparedMeasure, Comparison } from "../../../src/core/views/compare.ts";

export { MEASURE_LABELS, measureText, spreadText, verdictText } from "../../../src/core/views/compare-text.ts";
export type { ComparedAgent };

/** `GET /api/compare` */
export interface ComparedThreads {
  readonly left: readonly string[];
  readonly right: readonly string[];
  readonly trees: Comparison | null;
  readonly measures: readonly ComparedMeasure[];
}
