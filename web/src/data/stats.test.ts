import { describe, expect, it } from "vitest";
import { durationBoxes, type StatsLine, statsBars, valueText } from "./stats.ts";

const usage = (costUsd: number | null, outputTokens = 0) => ({
  calls: 1,
  inputTokens: 0,
  outputTokens,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  costUsd,
});
const part = (cost: number) => ({ agents: 1, durationMs: 1_000, usage: usage(cost), knownCostUsd: cost });
const line = (key: string | null, cost: number, more: Partial<StatsLine> = {}): StatsLine => ({
  key,
  ...part(cost),
  byStatus: {},
  failed: part(0),
  delegated: part(0),
  durations: null,
  threads: 1,
  ...more,
});

describe("usage bars", () => {
  it("have lengths relative to the longest, with the share of failed agents", () => {
    const bars = statsBars([line("a", 1), line("b", 4, { failed: part(2) })], "cost");
    expect(bars.map(({ line: { key }, part: long, failed }) => [key, long, failed])).toEqual([
      ["b", 1, 0.5],
      ["a", 0.25, 0],
    ]);
  });
  it("have no length without usage", () => {
    expect(statsBars([line("a", 0)], "cost").map((bar) => bar.part)).toEqual([0]);
  });
  it("show a lower bound if a price is missing", () => {
    const text = (costUsd: number | null, knownCostUsd: number) =>
      valueText({ ...part(0), usage: usage(costUsd), knownCostUsd }, "cost");
    expect([text(1.5, 1.5), text(null, 0.5), text(null, 0)]).toEqual(["$1.50", "≥ $0.50", "–"]);
  });
});

describe("durations by template", () => {
  it("share one scale", () => {
    const of = (least: number, most: number) => ({ least, quarter: least, median: least, threeQuarters: most, most });
    const { boxes, ticks } = durationBoxes([
      line("short", 1, { durations: of(100, 1_000) }),
      line("long", 1, { agents: 5, durations: of(1_000, 10_000) }),
      line("none", 1),
    ]);
    expect(boxes.map((box) => [box.line.key, box.least.toFixed(2), box.most.toFixed(2)])).toEqual([
      ["long", "0.50", "1.00"],
      ["short", "0.00", "0.50"],
    ]);
    expect(ticks.map(({ ms }) => ms)).toEqual([100, 1_000, 10_000]);
  });
  it("accept a single duration, and none", () => {
    const one = { least: 50, quarter: 50, median: 50, threeQuarters: 50, most: 50 };
    expect(durationBoxes([line("x", 1, { durations: one })]).boxes[0]?.median).toBe(0.5);
    expect(durationBoxes([])).toEqual({ boxes: [], ticks: [] });
  });
});
