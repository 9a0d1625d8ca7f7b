import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentSet } from "./agent-set.ts";
import { fitted, type Graph, type GraphOptions, graph, NODE, twoLines } from "./graph.ts";
import { sampleSet } from "./sample.ts";

const ROOM = { width: 1_400, height: 700 };
const draw = (set: AgentSet, messages: Parameters<typeof graph>[2] = [], options: GraphOptions = {}) =>
  graph(set, "main", messages, ROOM, options);

function overlaps({ nodes }: Graph): string[] {
  const found: string[] = [];
  for (const [i, a] of nodes.entries())
    for (const b of nodes.slice(i + 1))
      if (Math.abs(a.x - b.x) < a.width && Math.abs(a.y - b.y) < (a.height + b.height) / 2 - 1e-6)
        found.push(`${a.uri} ${b.uri}`);
  return found;
}

/** The parent of each agent is an earlier one. */
const forest = fc.array(fc.nat(), { maxLength: 80 }).map((parents) => {
  const tree: Record<string, string[]> = {};
  for (const [i, choice] of parents.entries()) {
    const parent = i === 0 ? "main" : choice % 3 === 0 ? "main" : `n${choice % i}`;
    tree[parent] = [...(tree[parent] ?? []), `n${i}`];
  }
  return sampleSet(tree, "main");
});

describe("a label", () => {
  it.each([
    ["short", "short"],
    ["WWWWWWWWWWWWWWWWWWWW", "WWWWWWWW…"],
    ["illillillillillillillill", "illillillillillillillill"],
    ["a name with many words in it", "a name with ma…"],
  ])("is cut where the box ends: %s", (text, shown) => {
    expect(fitted(text, 112)).toBe(shown);
  });
});

describe("a name", () => {
  it.each([
    ["short", ["short", ""]],
    ["Run the full test suite and report", ["Run the full test", "suite and report"]],
    ["Averyveryverylongwordthatgoesonandon", ["Averyveryverylon", "gwordthatgoeso…"]],
  ])("is broken between words, on two lines: %s", (text, lines) => {
    expect(twoLines(text, 112)).toEqual(lines);
  });
});

describe("the graph of a thread", () => {
  it("has every agent once, without overlaps, and children to the right of their parents", () => {
    fc.assert(
      fc.property(
        forest,
        fc.constantFrom("equal", "cost", "time" as const),
        fc.constantFrom(true, false, undefined),
        (set, size, isDetailed) => {
          const drawn = draw(set, [], { size, isDetailed });
          expect(drawn.nodes.map(({ uri }) => uri).toSorted()).toEqual([...set.uris()].toSorted());
          expect(overlaps(drawn)).toEqual([]);
          const at = new Map(drawn.nodes.map((node) => [node.uri, node]));
          for (const { from, to } of drawn.edges) expect(at.get(to)?.x).toBeGreaterThan(at.get(from)?.x ?? Number.NaN);
          expect(drawn.edges).toHaveLength(drawn.nodes.length - 1);
          for (const { x, y, width, height } of drawn.nodes) {
            expect(x).toBeGreaterThanOrEqual(0);
            expect(y - height / 2).toBeGreaterThanOrEqual(-1e-6);
            expect(x + width).toBeLessThanOrEqual(drawn.width);
            expect(y + height / 2).toBeLessThanOrEqual(drawn.height + 1e-6);
          }
        },
      ),
    );
  });

  it("has details in its boxes while they are readable, or on request", () => {
    const many = sampleSet({ main: Array.from({ length: 300 }, (_, i) => `n${i}`) }, "main");
    expect(draw(sampleSet({ main: ["a", "b"] }, "main")).isDetailed).toBe(true);
    expect(draw(many)).toMatchObject({
      isDetailed: false,
      nodes: expect.arrayContaining([expect.objectContaining(NODE)]),
    });
    expect(draw(many, [], { isDetailed: true }).isDetailed).toBe(true);
  });

  it("has boxes with heights by own cost or time, on request", () => {
    const record = sampleSet({}, "main").get("main");
    const taking = (costUsd: number | null, durationMs: number) =>
      ({ durationMs, usage: { ...record?.usage, own: { ...record?.usage.own, costUsd } } }) as never;
    const took: Record<string, [number | null, number]> = { main: [0, 100], a: [2, 50], b: [1, 0], c: [null, -70] };
    const set = sampleSet({ main: ["a", "b", "c"] }, "main", (uri) =>
      taking(...(took[uri] as [number | null, number])),
    );
    const heights = (size: GraphOptions["size"]) =>
      Object.fromEntries(
        draw(set, [], { ...(size === undefined ? {} : { size }) }).nodes.map(({ uri, height }) => [uri, height]),
      );
    expect(heights("equal")).toEqual({ main: 54, a: 54, b: 54, c: 54 });
    expect(heights("cost")).toEqual({ main: 54, a: 216, b: 135, c: 54 });
    expect(heights("time")).toEqual({ main: 216, a: 135, b: 54, c: 54 });
  });

  it("is readable with three hundred agents on one screen", () => {
    const tree: Record<string, string[]> = { main: Array.from({ length: 15 }, (_, i) => `p${i}`) };
    for (const parent of tree.main ?? []) tree[parent] = Array.from({ length: 19 }, (_, i) => `${parent}.${i}`);
    const { width, height, nodes } = draw(sampleSet(tree, "main"));
    expect(nodes).toHaveLength(301);
    // A font of twelve pixels is still seven pixels high.
    expect(Math.min(ROOM.width / width, ROOM.height / height) * 12).toBeGreaterThan(7);
  });

  it("frames many childless agents of the same kind, with one line to the frame", () => {
    const leaves = Array.from({ length: 9 }, (_, i) => `leaf${i}`);
    const set = sampleSet({ main: [...leaves, "fork", "parent"], parent: ["child"] }, "main", (uri) =>
      uri === "fork" ? { kind: "fork" } : {},
    );
    const { blocks, edges } = draw(set);
    expect(blocks.map(({ from, kind, agents }) => [from, kind, agents])).toEqual([["main", "spawned", 9]]);
    expect(edges.filter(({ path }) => path !== null).map(({ to, kind }) => [to, kind])).toEqual([
      ["fork", "forked"],
      ["parent", "spawned"],
      ["child", "spawned"],
    ]);
  });

  it("draws kinds of edges differently, and messages as arcs", () => {
    const set = sampleSet({ main: ["a", "b", "c"] }, "main", (uri) => (uri === "c" ? { kind: "external" } : {}));
    const message = (from: string, to: string, revives = false) => ({ from, to, at: 0, revives });
    const { edges, arcs } = draw(set, [
      message("main", "b", true),
      message("a", "b"),
      message("a", "b"),
      message("a", "unknown"),
    ]);
    expect(edges.map(({ to, kind }) => [to, kind])).toEqual([
      ["a", "spawned"],
      ["b", "revived"],
      ["c", "external"],
    ]);
    expect(arcs.map(({ from, to, messages }) => [from, to, messages])).toEqual([
      ["main", "b", 1],
      ["a", "b", 2],
    ]);
  });

  it("is drawn for a single agent and for one long chain of agents", () => {
    expect(draw(sampleSet({}, "main")).nodes).toHaveLength(1);
    const tree = Object.fromEntries(
      Array.from({ length: 3_000 }, (_, i) => [i === 0 ? "main" : `n${i}`, [`n${i + 1}`]]),
    );
    expect(draw(sampleSet(tree, "main")).nodes).toHaveLength(3_001);
  });
});
