import { describe, expect, it } from "vitest";
import { sampleSpan } from "./sample.ts";
import { firstReaching, SpanSet } from "./span-set.ts";

const spans = (set: SpanSet, uri: string) => set.of(uri).spans.map(({ from, to }) => [from, to]);

describe("spans told piece by piece", () => {
  it("replace what was told from their position on", () => {
    const set = new SpanSet();
    set.take({ whole: true, next: "a-1", items: [{ uri: "x", first: 0, spans: [sampleSpan(0, 5), sampleSpan(5, null)] }] });
    set.take({ whole: false, next: "a-2", items: [{ uri: "x", first: 1, spans: [sampleSpan(5, 9), sampleSpan(9, null)] }] });
    expect(spans(set, "x")).toEqual([
      [0, 5],
      [5, 9],
      [9, null],
    ]);
    expect([set.next, set.count]).toEqual(["a-2", 3]);
  });

  it("begin anew where everything is told, and take back what is gone", () => {
    const set = new SpanSet();
    set.take({ whole: true, next: "a-1", items: [{ uri: "x", first: 0, spans: [sampleSpan(0, 5), sampleSpan(5, 6)] }] });
    set.take({ whole: false, next: "a-2", items: [{ uri: "x", first: 1, spans: [] }] });
    expect(spans(set, "x")).toEqual([[0, 5]]);
    set.take({ whole: true, next: "b-1", items: [] });
    expect(spans(set, "x")).toEqual([]);
  });

  it("are found by a moment, also where a long one lies below short ones", () => {
    const set = new SpanSet();
    set.take({ whole: true, next: "", items: [{ uri: "x", first: 0, spans: [sampleSpan(0, 2), sampleSpan(1, 100), sampleSpan(3, 4), sampleSpan(50, null)] }] });
    expect([0, 2, 3, 60, 1000].map((at) => firstReaching(set.of("x"), at))).toEqual([0, 0, 1, 1, 3]);
    expect(firstReaching(set.of("nobody"), 5)).toBe(0);
  });
});
