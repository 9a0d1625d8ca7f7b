import { describe, expect, it } from "vitest";
import { addTo, cached, lowerBound } from "./collections.ts";

describe("a cached value", () => {
  it("is made once, even if it is null", () => {
    const cache = new Map<string, number | null>();
    let made = 0;
    const make = () => {
      made += 1;
      return null;
    };
    expect([cached(cache, "a", make), cached(cache, "a", make), made]).toEqual([null, null, 1]);
  });
});

describe("a list by key", () => {
  it("contains what was added, in order", () => {
    const lists = new Map<string, number[]>();
    for (const [key, value] of [
      ["a", 1],
      ["b", 2],
      ["a", 3],
    ] as const)
      addTo(lists, key, value);
    expect([...lists]).toEqual([
      ["a", [1, 3]],
      ["b", [2]],
    ]);
  });
});

describe("a position in a sorted list", () => {
  it("is the first one that is not before the target, for any length and target", () => {
    for (let length = 0; length < 9; length += 1) {
      const sorted = Array.from({ length }, (_, i) => 2 * Math.floor(i / 2));
      for (let target = -1; target < 10; target += 1)
        expect(lowerBound(sorted, (one) => one < target)).toBe(sorted.filter((one) => one < target).length);
    }
  });
});
