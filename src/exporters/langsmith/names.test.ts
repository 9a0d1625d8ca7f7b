import { describe, expect, it } from "vitest";
import type { Span } from "../trace/span.ts";
import { Places, placeIn, uuid7 } from "./names.ts";

const START = Date.parse("2025-12-16T17:44:04.397Z");
const span = (key: string, parent: Span | null, start: number, kind: Span["kind"] = "turn") =>
  ({ key, kind, parent, start, born: start }) as Span;
const places = (outer: ReturnType<typeof placeIn> = null, shift = 0) => new Places("p", outer, shift);

describe("ids", () => {
  it("contain the time, are of version 7, and are the same for the same name", () => {
    const id = uuid7(START, "a");
    expect(id).toMatch(/^019b2843-182d-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(START);
    expect(uuid7(START, "a")).toBe(id);
    expect(uuid7(START, "b")).not.toBe(id);
    expect(uuid7(-5, "a").slice(0, 13)).toBe("00000000-0000");
  });

  it("differ between projects", () => {
    expect(new Places("q", null, 0).of(span("a", null, START)).id).not.toBe(places().of(span("a", null, START)).id);
  });
});

describe("dotted orders", () => {
  it("are the path from the root, each with its time in microseconds", () => {
    const all = places();
    const root = span("root", null, START);
    const call = span("call", root, START + 5, "call");
    const [a, b] = [all.of(root), all.of(call)];
    expect(a.dottedOrder).toBe(`20251216T174404397000Z${a.id}`);
    expect(b.dottedOrder).toBe(`${a.dottedOrder}.20251216T174404402100Z${b.id}`);
    expect([a.traceId, a.parentId, b.traceId, b.parentId]).toEqual([a.id, null, a.id, a.id]);
    expect([a.startTime, b.startTime]).toEqual(["2025-12-16T17:44:04.397000Z", "2025-12-16T17:44:04.402100Z"]);
  });

  it("sort runs of the same millisecond: prompt, calls, tools; never before the parent", () => {
    const all = places();
    const root = span("root", null, START);
    const kinds = ["prompt", "call", "call", "tool", "tool"] as const;
    const below = kinds.map((kind, i) => all.of(span(`${kind}${i}`, root, START, kind)).dottedOrder);
    expect(below.toSorted()).toEqual(below);
    let deep = span("tool", root, START, "tool");
    for (let depth = 0; depth < 30; depth += 1) {
      const child = span(`${depth}`, deep, START, depth % 2 === 0 ? "agent" : "tool");
      const times = (one: Span) => all.of(one).dottedOrder.split(".").at(-1)?.slice(0, 22) ?? "";
      expect(times(child) >= times(deep)).toBe(true);
      deep = child;
    }
  });

  it("of children that started earlier, by their own clock, start with the parent", () => {
    const all = places();
    const root = span("root", null, START);
    expect(all.of(span("early", root, START - 1_000, "call")).startTime).toBe("2025-12-16T17:44:04.397100Z");
  });

  it("continue below an external run", () => {
    const id = "019b2869-b1cd-7000-8000-000000000001";
    const outer = placeIn(`20251216T174500000007Z${id}`);
    const place = places(outer).of(span("root", null, START));
    expect(place).toMatchObject({ traceId: id, parentId: id, startTime: "2025-12-16T17:45:00.000007Z" });
    expect(place.dottedOrder).toBe(`20251216T174500000007Z${id}.20251216T174500000007Z${place.id}`);
    for (const wrong of ["", "x", `2025Z${id}`, `20251216T174500000007Z${id}.`]) expect(placeIn(wrong)).toBe(null);
  });

  it("are moved as a whole, under the same ids", () => {
    const [here, there] = [
      places().of(span("root", null, START)),
      places(null, 86_400_000).of(span("root", null, START)),
    ];
    expect([there.id, there.startTime]).toEqual([here.id, "2025-12-17T17:44:04.397000Z"]);
  });
});
