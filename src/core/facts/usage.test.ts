import { describe, expect, it } from "vitest";
import { addUsage, fingerprintsOf, largestTokens, NO_USAGE, totalTokens, type Usage } from "./usage.ts";

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

describe("the fingerprints of a response", () => {
  const content = ["All  done.\n", "call_1"];
  const seen = fingerprintsOf({ id: "r1", tokens: usage(1, 0), content }).fingerprints ?? [];
  const shared = (known: Parameters<typeof fingerprintsOf>[0]) =>
    (fingerprintsOf(known).fingerprints ?? []).filter((one) => seen.includes(one)).length;

  it("are equal if two of id, usage and content are, whatever the third is", () => {
    expect(shared({ id: "r1", tokens: usage(1, 0), content: null })).toBe(1);
    expect(shared({ id: "r1", tokens: null, content: [" All done.", "call_1"] })).toBe(1);
    expect(shared({ id: null, tokens: usage(1, 0), content })).toBe(1);
  });

  it("differ if only one of them is equal, and there are none for a single one", () => {
    expect(shared({ id: "r1", tokens: usage(2, 0), content: ["Other."] })).toBe(0);
    expect(shared({ id: "r2", tokens: usage(2, 0), content })).toBe(0);
    expect(fingerprintsOf({ id: "r1", tokens: null, content: [" "] })).toEqual({});
  });
});
