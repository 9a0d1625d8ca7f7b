import { expect, it } from "vitest";
import { nextMatch } from "./next-match.ts";

const ITEMS = [1, 2, 3, 4, 5];
const isEven = (n: number) => n % 2 === 0;

it.each([
  // Nothing is selected.
  [-1, 1, 1],
  [-1, -1, 3],
  [1, 1, 3],
  [3, 1, 1],
  [1, -1, 3],
] as const)("the next match from %i in direction %i is %i", (from, direction, index) => {
  expect(nextMatch(ITEMS, from, direction, isEven)).toBe(index);
});

it("the only match is also the next one, and without a match there is none", () => {
  expect(nextMatch(ITEMS, 4, 1, (n) => n === 5)).toBe(4);
  expect(nextMatch(ITEMS, 0, 1, (n) => n > 5)).toBeNull();
  expect(nextMatch([], -1, 1, isEven)).toBeNull();
});
