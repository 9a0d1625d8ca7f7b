import { describe, expect, it } from "vitest";
import { sampleSpan } from "./sample.ts";
import { firstReaching, SpanSet } from "./span-set.ts";

const spans = (set: SpanSet, uri: string) => set.of(uri).spans.map(({ from, to }) => [from, to]);

describe("spans updated by edits", () => {
  it("are replaced from the position of the edit on", () => {
    const set = new SpanSet();
    set.apply({
      whole: true,
      next: "a-1",
      items: [{ uri: "x", first: 0, removed: null, spans: [sampleSpan(0, 5), sampleSpan(5, null)] }],
    });
    set.apply({
      whole: false,
      next: "a-2",
      items: [{ uri: "x", first: 1, removed: null, spans: [sampleSpan(5, 9), sampleSpan(9, null)] }],
    });
    expect(spans(set, "x")).toEqual([
      [0, 5],
      [5, 9],
      [9, null],
    ]);
    expect([set.next, set.count]).toEqual(["a-2", 3]);
  });

  it("are replaced only within the edit, and few others are visited", () => {
    const set = new SpanSet();
    const many = Array.from({ length: 30_000 }, (_, i) => sampleSpan(i, i + 1));
    set.apply({ whole: true, next: "a-1", items: [{ uri: "x", first: 0, removed: null, spans: many }] });
    const before = set.visited;
    const edits = [
      { uri: "x", first: 10, removed: 1, spans: [sampleSpan(10, 15)] },
      { uri: "x", first: 30_000, removed: 0, spans: [sampleSpan(30_000, null)] },
    ];
    set.apply({ whole: false, next: "a-2", items: edits });
    expect(set.visited - before).toBeLessThan(10);
    const expected = new SpanSet();
    const spans = [...many.slice(0, 10), sampleSpan(10, 15), ...many.slice(11), sampleSpan(30_000, null)];
    expected.apply({ whole: true, next: "", items: [{ uri: "x", first: 0, removed: null, spans }] });
    expect(set.of("x")).toEqual(expected.of("x"));
  });

  it("are replaced by a complete response, without removed agents", () => {
    const set = new SpanSet();
    set.apply({
      whole: true,
      next: "a-1",
      items: [{ uri: "x", first: 0, removed: null, spans: [sampleSpan(0, 5), sampleSpan(5, 6)] }],
    });
    set.apply({ whole: false, next: "a-2", items: [{ uri: "x", first: 1, removed: null, spans: [] }] });
    expect(spans(set, "x")).toEqual([[0, 5]]);
    set.apply({ whole: true, next: "b-1", items: [] });
    expect(spans(set, "x")).toEqual([]);
  });

  it("are found by a moment, even if a long span overlaps short ones", () => {
    const set = new SpanSet();
    set.apply({
      whole: true,
      next: "",
      items: [
        {
          uri: "x",
          first: 0,
          removed: null,
          spans: [sampleSpan(0, 2), sampleSpan(1, 100), sampleSpan(3, 4), sampleSpan(50, null)],
        },
      ],
    });
    expect([0, 2, 3, 60, 1000].map((at) => firstReaching(set.of("x"), at))).toEqual([0, 0, 1, 1, 3]);
    expect(firstReaching(set.of("unknown"), 5)).toBe(0);
  });
});
