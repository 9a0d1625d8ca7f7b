import { describe, expect, it } from "vitest";
import type { Span } from "../../core/views/span.ts";
import { bar } from "../commands/stats.ts";
import { barOf } from "./timeline.ts";

const span = (kind: Span["kind"], from: number, to: number | null, more: Partial<Span> = {}): Span => {
  return { kind, from, to, name: null, callId: null, tokens: 0, outputTokens: 0, end: "done", agents: [], ...more };
};
const draw = (spans: readonly Span[], columns = 10, life = { from: 0, to: 100 }) =>
  barOf([{ ...life, spans }], { from: 0, to: 100, columns });

describe("the row of an agent", () => {
  it("shows the longest activity of each interval", () => {
    const row = draw([span("model", 0, 28), span("tool", 28, 60), span("wait", 60, 100)]);
    expect(row).toEqual(["model", "model", "model", "tool", "tool", "tool", "wait", "wait", "wait", "wait"]);
  });
  it("shows activities shorter than an interval, and failures before all else", () => {
    expect(
      draw([
        span("wait", 0, 100),
        span("model", 41, 42),
        span("tool", 43, 44, { end: "failed" }),
        span("tool", 80, 80),
      ]),
    ).toEqual([...Array<string>(4).fill("wait"), "failed", ...Array<string>(3).fill("wait"), "tool", "wait"]);
  });
  it("is empty before the agent started and after it ended, and idle between its activities", () => {
    expect(draw([span("model", 20, 30)], 10, { from: 20, to: 69 })).toEqual([
      "none",
      "none",
      "model",
      "idle",
      "idle",
      "idle",
      "idle",
      "none",
      "none",
      "none",
    ]);
  });
  it("extends an open span to the agent's last activity", () => {
    expect(draw([span("tool", 50, null)], 4)).toEqual(["idle", "idle", "tool", "tool"]);
  });
});

describe("a bar", () => {
  it.each([
    [1, 1, "████"],
    [0.5, 1, "██"],
    [0.3, 1, "█▎"],
    [0.0001, 1, "▏"],
    [0, 1, ""],
    [0, 0, ""],
  ])("of %f of %f is %s", (value, most, drawn) => {
    expect(bar(value, most, 4)).toBe(drawn);
  });
});
