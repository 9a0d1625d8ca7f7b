import { describe, expect, it } from "vitest";
import { durationText, parseDuration } from "./duration.ts";

describe("a duration", () => {
  it.each([
    ["30s", 30_000],
    ["10m", 600_000],
    ["2h", 7_200_000],
    ["3d", 259_200_000],
    ["1w", 604_800_000],
    ["0s", 0],
  ])("%s", (words, ms) => {
    expect(parseDuration(words)).toBe(ms);
  });
  it.each(["", "10", "m", "10 m", "-1m", "1.5h", "10y", "10M", "1h30m", "9999999999s"])("%j is invalid", (words) => {
    expect(parseDuration(words)).toBeNull();
  });
  it.each([
    [90_000, "90s"],
    [600_000, "10m"],
    [86_400_000, "1d"],
    [7 * 86_400_000, "1w"],
  ])("of %i ms is written %s", (ms, words) => {
    expect([durationText(ms), parseDuration(words)]).toEqual([words, ms]);
  });
});
