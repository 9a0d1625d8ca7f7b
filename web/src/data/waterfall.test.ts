import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sampleSet, sampleSpan, sampleTime } from "./sample.ts";
import { type Span, SpanSet } from "./span-set.ts";
import { around, barsOf, concurrency, isWhole, panned, spanAt, ticks, waterfall, zoomed } from "./waterfall.ts";

const TIMES: Readonly<Record<string, readonly [number, number]>> = {
  main: [0, 1_000],
  a: [100, 500],
  b: [100, 900],
  b1: [200, 800],
};

function spanSet(spans: Readonly<Record<string, readonly Span[]>>): SpanSet {
  const set = new SpanSet();
  set.apply({
    whole: true,
    next: "",
    items: Object.entries(spans).map(([uri, list]) => ({ uri, first: 0, removed: null, spans: list })),
  });
  return set;
}

function picture() {
  const set = sampleSet({ main: ["a", "b"], b: ["b1"] }, "main", (uri) => ({
    startedAt: sampleTime(TIMES[uri]?.[0] ?? 0),
    endedAt: sampleTime(TIMES[uri]?.[1] ?? 0),
  }));
  const wait = (from: number, to: number, ...agents: string[]) => sampleSpan(from, to, { kind: "wait", agents });
  const spans = spanSet({ main: [sampleSpan(0, 90), wait(90, 910, "a", "b")], b: [wait(150, 850, "b1")] });
  return waterfall(set, "main", spans, 2_000);
}

describe("the waterfall of a thread", () => {
  it("has every agent at its time, in the order of the tree", () => {
    const { rows, from, to, isLive } = picture();
    expect(rows.map(({ uri, depth, life }) => [uri, depth, life?.from, life?.to])).toEqual([
      ["main", 0, 0, 1_000],
      ["a", 1, 100, 500],
      ["b", 1, 100, 900],
      ["b1", 2, 200, 800],
    ]);
    expect([from, to, isLive]).toEqual([0, 1_000, false]);
  });

  it("puts the child that the parent waited for on the critical path", () => {
    expect(picture().path.map(({ uri, from, to }) => [uri, from, to])).toEqual([
      ["main", 0, 100],
      ["b", 100, 200],
      ["b1", 200, 800],
      ["b", 800, 900],
      ["main", 900, 1_000],
    ]);
  });

  it("extends to now while an agent runs, and accepts agents that never began", () => {
    const set = sampleSet({ main: ["late"] }, "main", (uri) =>
      uri === "main" ? { startedAt: sampleTime(0), status: "running" } : { status: "notFound" },
    );
    const { rows, to, isLive } = waterfall(set, "main", new SpanSet(), 5_000);
    expect([rows.length, rows[1]?.life, to, isLive]).toEqual([2, undefined, 5_000, true]);
  });

  it("draws any times: a clock may be wrong by thousands of years, an end before the start, a time unreadable", () => {
    const odd: Readonly<Record<string, readonly [string, string]>> = {
      main: ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"],
      a: ["2026-11-16T12:00:00.000Z", "2026-11-16T11:00:00.000Z"],
      b: ["+275760-09-13T00:00:00.000Z", "-271821-04-20T00:00:00.000Z"],
      c: ["soon", "2026-11-16T11:00:00.000Z"],
      d: ["2026-11-16T12:00:00.000Z", "later"],
    };
    const set = sampleSet({ main: ["a", "b", "c", "d"] }, "main", (uri) => ({
      startedAt: odd[uri]?.[0] ?? null,
      endedAt: odd[uri]?.[1] ?? null,
    }));
    const noon = Date.parse("2026-11-16T12:00:00.000Z");
    const spans = spanSet({ main: [sampleSpan(Date.parse("0001-01-01"), 8.64e15)], a: [sampleSpan(noon, noon - 5)] });
    const { rows, from, to, path } = waterfall(set, "main", spans, noon);
    expect(rows.filter(({ life }) => life === undefined).map(({ uri }) => uri)).toEqual(["c"]);
    expect(rows.every(({ life }) => life === undefined || life.to >= life.from)).toBe(true);
    expect([from, to]).toEqual([Date.parse("0001-01-01"), 8.64e15]);
    expect(path.length).toBeGreaterThan(0);
    expect(ticks({ from, to }, from, 1_400, 90).length).toBeLessThanOrEqual(1_400 / 90 + 1);
    expect(concurrency(rows, { from, to }, 1_400)).toHaveLength(1_400);
    for (const { list } of rows)
      for (const { x, width } of barsOf(list, { from, to }, 1_400, noon))
        expect(x >= -1 && width > 0 && x + width <= 1_402).toBe(true);
  });

  it("is empty without started agents, but has a length", () => {
    const { from, to } = waterfall(sampleSet({}, "main"), "main", new SpanSet(), 7);
    expect(to - from).toBeGreaterThan(0);
  });
});

describe("zooming", () => {
  const whole = { from: 0, to: 1_000 };
  it("keeps the moment under the pointer in place", () => {
    const view = zoomed(whole, whole, 4, 250);
    expect(view.to - view.from).toBe(250);
    expect((250 - view.from) / (view.to - view.from)).toBeCloseTo(0.25);
  });
  it("stays within the thread, and can be undone completely", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.double({ min: 0.1, max: 10, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true }))),
        (steps) => {
          let view = whole;
          for (const [factor, at] of steps) {
            view = panned(zoomed(view, whole, factor, view.from + at * (view.to - view.from)), whole, (at - 0.5) * 300);
            expect(view.from).toBeGreaterThanOrEqual(0);
            expect(view.to).toBeLessThanOrEqual(1_000 + 1e-6);
            expect(view.to - view.from).toBeGreaterThan(0);
          }
          expect(isWhole(zoomed(view, whole, 1e-9, 500), whole)).toBe(true);
        },
      ),
    );
  });
  it("shows the lifetime of an agent with a margin", () => {
    expect(around({ from: 400, to: 500 }, whole)).toEqual({ from: 392, to: 508 });
    expect(around(whole, whole)).toEqual(whole);
  });
});

describe("bars", () => {
  const listOf = (spans: readonly Span[]) => spanSet({ x: spans }).of("x");
  const view = { from: 0, to: 1_000 };

  it("have the positions of their spans", () => {
    const bars = barsOf(
      listOf([sampleSpan(100, 200), sampleSpan(200, 400, { kind: "tool" }), sampleSpan(900, null)]),
      view,
      100,
      950,
    );
    expect(bars.map(({ kind, x, width }) => [kind, x, width])).toEqual([
      ["model", 10, 10],
      ["model", 90, 5],
      ["tool", 20, 20],
    ]);
  });

  it("omit spans that are not in view", () => {
    const list = listOf([sampleSpan(0, 10), sampleSpan(100, 200), sampleSpan(990, 1_000)]);
    expect(barsOf(list, { from: 50, to: 250 }, 100, 0).map(({ spans }) => spans)).toEqual([1]);
  });

  it("are merged if smaller than a pixel, and none is lost", () => {
    const spans = Array.from({ length: 10_000 }, (_, i) =>
      sampleSpan(i * 0.1, i * 0.1 + 0.05, { kind: i % 2 === 0 ? "model" : "tool" }),
    );
    const bars = barsOf(listOf(spans), view, 200, 0);
    expect(bars.length).toBeLessThanOrEqual(2 * 200);
    expect(bars.reduce((sum, bar) => sum + bar.spans, 0)).toBe(10_000);
  });

  it("show a failure of any size, without colouring their neighbours", () => {
    const spans = [
      sampleSpan(0, 500, { kind: "tool" }),
      sampleSpan(500, 500.1, { kind: "tool", end: "failed" }),
      sampleSpan(510, 1_000, { kind: "tool" }),
    ];
    expect(barsOf(listOf(spans), view, 100, 0).map(({ failed, width }) => [failed, Math.round(width)])).toEqual([
      [false, 50],
      [true, 1],
      [false, 49],
    ]);
  });

  it("cover every moment that a span covers, for any spans", () => {
    const span = fc.tuple(
      fc.integer({ min: 0, max: 1_000 }),
      fc.integer({ min: 0, max: 300 }),
      fc.constantFrom("model", "tool", "wait"),
      fc.boolean(),
    );
    fc.assert(
      fc.property(fc.array(span, { maxLength: 60 }), (made) => {
        const spans = made
          .toSorted((a, b) => a[0] - b[0])
          .map(([from, length, kind, failed]) =>
            sampleSpan(from, from + length, { kind: kind as Span["kind"], end: failed ? "failed" : "done" }),
          );
        const bars = barsOf(listOf(spans), view, 300, 0);
        expect(bars.reduce((sum, bar) => sum + bar.spans, 0)).toBe(spans.length);
        for (const { kind, from, to } of spans) {
          const x = ((from + (to ?? 0)) / 2) * 0.3;
          if (x <= 300)
            expect(bars.some((bar) => bar.kind === kind && bar.x <= x + 1 && bar.x + bar.width >= x - 1)).toBe(true);
        }
      }),
    );
  });

  it("are found by the pointer, work before waiting", () => {
    const list = listOf([
      sampleSpan(0, 1_000, { kind: "wait" }),
      sampleSpan(100, 200),
      sampleSpan(300, 300, { kind: "tool" }),
    ]);
    expect([150, 250, 301, 5_000].map((at) => spanAt(list, at, 2, 0))).toEqual([1, 0, 2, -1]);
  });
});

describe("axis and concurrency", () => {
  it("has ticks at round times, not too close to each other", () => {
    expect(ticks({ from: 1_000, to: 11_000 }, 1_000, 1_000, 90).map(({ since }) => since)).toEqual([
      0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000,
    ]);
    expect(ticks({ from: 0, to: 90 * 864e5 }, 0, 900, 90)).toHaveLength(11);
  });
  it("has the number of concurrent agents", () => {
    const { rows, from, to } = picture();
    expect([...concurrency(rows, { from, to }, 10)]).toEqual([1, 3, 4, 4, 4, 4, 3, 3, 3, 2]);
  });
});
