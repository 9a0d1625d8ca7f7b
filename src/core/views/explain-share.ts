import { totalTokens, type Usage } from "../facts/usage.ts";

/** The share of a branch: by cost, or by tokens if a price is unknown. */
export const shareOf = (part: Usage, whole: Usage): number =>
  part.costUsd !== null && whole.costUsd !== null && whole.costUsd > 0
    ? part.costUsd / whole.costUsd
    : totalTokens(part) / Math.max(1, totalTokens(whole));
