import { describe, expect, it } from "vitest";
import { NO_USAGE } from "../facts/usage.ts";
import { type SpentRow, templateOf } from "./stats.ts";
import { statsBy, statsTotal, threadsBehind } from "./stats-sums.ts";

const row = (more: Partial<SpentRow>, costUsd: number | null = 1): SpentRow => ({
  day: "2026-11-15",
  provider: "toy",
  model: "m",
  type: "t",
  project: "p",
  template: "x",
  status: "completed",
  thread: "toy://one",
  agents: 1,
  durationMs: 10,
  usage: { ...NO_USAGE, calls: 1, outputTokens: 5, costUsd },
  ...more,
});

describe("usage statistics", () => {
  const rows = [
    row({ model: "cheap" }, 0.5),
    row({ model: "dear", status: "errored" }, 9),
    row({ model: "dear", agents: 0, durationMs: 0, day: "2026-11-14" }, 1),
    row({ model: "unpriced" }, null),
  ];

  it("are sorted by cost, the highest first, and count each agent once", () => {
    expect(
      statsBy(rows, "model").map((l) => [l.key, l.agents, l.usage.calls, l.usage.costUsd, l.byStatus, l.durationMs]),
    ).toEqual([
      ["dear", 1, 2, 10, { errored: 1 }, 10],
      ["cheap", 1, 1, 0.5, { completed: 1 }, 10],
      ["unpriced", 1, 1, null, { completed: 1 }, 10],
    ]);
  });
  it("have no line for the model of an agent that never used one", () => {
    const refused = row({ model: null, status: "errored", usage: NO_USAGE, durationMs: 0 });
    const all = [...rows, refused];
    expect(statsBy(all, "model")).toEqual(statsBy(rows, "model"));
    expect(threadsBehind(all, "model", null)).toEqual([]);
    expect(statsTotal(all).agents).toBe(statsTotal(rows).agents + 1);
    expect(statsBy(all, "status").find(({ key }) => key === "errored")?.agents).toBe(2);
    // The model of this one is unknown.
    expect(statsBy([row({ model: null })], "model").map(({ key }) => key)).toEqual([null]);
  });
  it("are ordered by day", () => {
    expect(statsBy(rows, "day").map((l) => l.key)).toEqual(["2026-11-14", "2026-11-15"]);
  });
  it("are a lower bound if a price is missing", () => {
    const total = statsTotal(rows);
    expect([total.agents, total.usage.costUsd, total.knownCostUsd]).toEqual([3, null, 10.5]);
  });
});

describe("a row of usage statistics", () => {
  const rows = [
    row({ type: "(main)", durationMs: 100 }, 1),
    row({ durationMs: 10, status: "errored" }, 2),
    row({ durationMs: 20 }, 4),
    row({ durationMs: 40, thread: "toy://two" }, 8),
    row({ agents: 0, durationMs: 0, model: "other" }, 16),
  ];

  it("shows the usage of failed agents and of delegated work", () => {
    const { failed, delegated, knownCostUsd } = statsTotal(rows);
    expect([knownCostUsd, failed.knownCostUsd, failed.agents, delegated.knownCostUsd, delegated.agents]).toEqual([
      31, 2, 1, 30, 3,
    ]);
  });
  it("shows how long agents took, each counted once", () => {
    expect(statsTotal(rows).durations).toEqual({ least: 10, quarter: 20, median: 40, threeQuarters: 40, most: 100 });
    expect(statsBy(rows, "model").find(({ key }) => key === "other")?.durations).toBeNull();
  });
  it("counts its threads, and lists them with their usage", () => {
    expect(statsTotal(rows).threads).toBe(2);
    expect(threadsBehind(rows, "status", "errored").map(({ key, knownCostUsd }) => [key, knownCostUsd])).toEqual([
      ["toy://one", 2],
    ]);
    expect(
      threadsBehind(rows, "type", "t").map(({ key, agents, knownCostUsd }) => [key, agents, knownCostUsd]),
    ).toEqual([
      ["toy://one", 2, 22],
      ["toy://two", 1, 8],
    ]);
    expect(threadsBehind(rows, "type", null)).toEqual([]);
  });
});

describe("the template of a prompt", () => {
  it.each([
    ["Review src/payments/card.ts for bugs", "Review src/payments/refund.ts for bugs"],
    ["Fix issue 123 in 2 files", "Fix issue 7 in 14 files"],
    ['Rename "foo" to "bar"', "Rename 'a b' to `c`"],
    ["See https://example.invalid/a?b=1 and go on", "See https://example.invalid/other and go on"],
    [
      "Look at commit 3f2a9bc and 833fc0f4-0b5d-4c2e-9d3f-6c1de7a1b2c3",
      "Look at commit 0011223 and 11111111-2222-4333-8444-555555555555",
    ],
    ["Do\n\n  this", "Do this"],
  ])("%s is the same as %s", (a, b) => {
    expect(templateOf(a)).toBe(templateOf(b));
  });
  it("differs if the words differ", () => {
    expect(templateOf("Review the code")).not.toBe(templateOf("Write the code"));
  });
});
