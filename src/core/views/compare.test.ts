import { describe, expect, it } from "vitest";
import { compareGroups, type Measured } from "./compare.ts";

const thread = (costUsd: number | null): Measured => ({
  durationMs: 1_000,
  calls: 2,
  tokens: 10,
  costUsd,
  toolCalls: 1,
  toolErrors: 0,
  agents: 1,
  failed: 0,
});
const cost = (left: readonly (number | null)[], right: readonly (number | null)[]) =>
  compareGroups(left.map(thread), right.map(thread)).find(({ measure }) => measure === "costUsd");

describe("two groups of threads", () => {
  it("differ clearly only if all of one are above all of the other, and there are enough", () => {
    expect(cost([1, 2, 3, 4], [5, 6, 7, 8])).toMatchObject({ difference: "clear", chance: 2 / 70 });
    expect(cost([1, 2, 3], [5, 6, 7])).toMatchObject({ difference: "few", chance: 0.1 });
    expect(cost([1], [9])).toMatchObject({ difference: "few", chance: 1 });
  });

  it("do not differ if they overlap, however far apart their medians are", () => {
    expect(cost([1, 2, 100], [50, 60, 70])).toMatchObject({ difference: "none", chance: null });
    expect(cost([1, 1, 1], [1, 1, 1])).toMatchObject({ difference: "none" });
  });

  it("show their spread, without threads of unknown cost", () => {
    expect(cost([3, 1, null, 2], [4, 8])).toMatchObject({
      left: { threads: 3, least: 1, median: 2, most: 3 },
      right: { threads: 2, least: 4, median: 6, most: 8 },
    });
    expect(cost([null], [1])).toMatchObject({ left: null, difference: "unknown" });
  });
});
