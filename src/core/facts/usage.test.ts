import { describe, expect, it } from "vitest";
import { addUsage, largestTokens, NO_USAGE, totalTokens, type Usage } from "./usage.ts";

const usage = (n: number, costUsd: number | null): Usage => ({
  calls: n,
  inputTokens: 10 * n,
  outputTokens: 20 * n,
  reasoningTokens: 3 * n,
  cacheReadTokens: 400 * n,
  cacheWriteTokens: 50 * n,
  cacheWrite1hTokens: 6 * n,
  costUsd,
});

describe("usage", () => {
  it("is added field by field", () => {
    expect(addUsage(usage(1, 0.5), usage(2, 0.25))).toEqual(usage(3, 0.75));
    expect(addUsage(NO_USAGE, usage(2, 0.25))).toEqual(usage(2, 0.25));
  });

  it("has an unknown cost as soon as one part's cost is unknown", () => {
    expect(addUsage(usage(1, null), usage(2, 0.25)).costUsd).toBeNull();
    expect(addUsage(usage(1, 0.5), usage(2, null)).costUsd).toBeNull();
  });

  it("of a response that was recorded several times is the largest of each number", () => {
    const early = { ...usage(1, 0), outputTokens: 1, cacheReadTokens: 900 };
    expect(largestTokens(early, usage(2, 0))).toMatchObject({
      inputTokens: 20,
      outputTokens: 40,
      cacheReadTokens: 900,
    });
  });

  it("counts input and output tokens: reasoning and one-hour cache writes are part of these", () => {
    expect(totalTokens(usage(1, 0))).toBe(10 + 20 + 400 + 50);
  });
});
