import { describe, expect, it } from "vitest";
import { boxesOf, icicle, ownOf } from "./icicle.ts";
import { sampleAgent, sampleSet, sampleSpan } from "./sample.ts";
import { SpanSet } from "./span-set.ts";

const OWN: Readonly<Record<string, number | null>> = { main: 10, a: 30, b: 20, b1: 40, b2: null };
const picture = () =>
  icicle(sampleSet({ main: ["a", "b"], b: ["b1", "b2"] }, "main"), "main", ({ uri }) => OWN[uri] ?? null);

describe("an icicle", () => {
  it("draws every agent below its parent, as wide as the usage of its subtree", () => {
    const { nodes, total, levels, unknown } = picture();
    expect([total, levels, unknown]).toEqual([100, 3, 1]);
    expect(
      nodes.map(({ uri, depth, from, to, total: sum }) => [uri, depth, from.toFixed(2), to.toFixed(2), sum]),
    ).toEqual([
      ["main", 0, "0.00", "1.00", 100],
      ["a", 1, "0.00", "0.30", 30],
      ["b", 1, "0.30", "0.90", 60],
      ["b1", 2, "0.30", "0.70", 40],
      ["b2", 2, "0.70", "0.70", 0],
    ]);
  });

  it("shows the root if all values are zero", () => {
    expect(icicle(sampleSet({}, "main"), "main", () => 0).nodes).toMatchObject([{ from: 0, to: 1 }]);
  });

  it("can show a single subtree", () => {
    const boxes = boxesOf(picture(), { from: 0.3, to: 0.9 }, 600, 1);
    expect(
      boxes
        .filter(({ node }) => node.uri !== "a" && node.total > 0)
        .map(({ node, x, width }) => [node.uri, Math.round(x), Math.round(width)]),
    ).toEqual([
      ["b", 0, 600],
      ["b1", 0, 400],
    ]);
  });

  it("draws one box for agents that are smaller than a pixel, and counts them", () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `x${i}`);
    const boxes = boxesOf(
      icicle(sampleSet({ main: many }, "main"), "main", () => 1),
      { from: 0, to: 1 },
      500,
      0,
    );
    expect(boxes.length).toBeLessThanOrEqual(501);
    expect(boxes.reduce((sum, { agents }) => sum + agents, 0)).toBe(5_001);
  });

  it("measures working time, cost, tokens and model calls of the agent alone", () => {
    const spans = new SpanSet();
    spans.apply({
      whole: true,
      next: "",
      items: [
        {
          uri: "x",
          first: 0,
          removed: null,
          spans: [sampleSpan(0, 40), sampleSpan(40, 90, { kind: "wait" }), sampleSpan(90, null)],
        },
      ],
    });
    const usage = {
      calls: 2,
      inputTokens: 5,
      outputTokens: 5,
      reasoningTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      costUsd: 0.5,
    };
    const agent = sampleAgent("x", null, {
      usage: { own: usage, internal: { ...usage, costUsd: 0.25 }, subtree: usage, reported: null },
    });
    expect((["time", "cost", "tokens", "calls"] as const).map((measure) => ownOf(agent, measure, spans, 100))).toEqual([
      50, 0.75, 20, 4,
    ]);
    const unpriced = sampleAgent("x", null, {
      usage: { own: { ...usage, costUsd: null }, internal: null, subtree: usage, reported: null },
    });
    expect(ownOf(unpriced, "cost", spans, 100)).toBeNull();
  });
});
