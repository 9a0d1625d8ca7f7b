import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentSet } from "./agent-set.ts";
import { sampleAgent } from "./sample.ts";
import { formatSort, parseSort, treeRows } from "./tree-rows.ts";
import type { AgentRecord, AgentTree } from "./types.ts";

const NOW = Date.parse("2026-11-16T12:00:00Z");
const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();
const rowsOf = (set: AgentSet, folded: readonly string[] = [], sort: string | undefined = undefined) =>
  treeRows(set, "r", (uri) => folded.includes(uri), parseSort(sort), NOW);
const drawn = (rows: ReturnType<typeof rowsOf>) =>
  rows.map((row) => `${"  ".repeat(row.depth)}${row.uri}${row.folded ? "+" : ""}`);

const family: AgentRecord[] = [
  sampleAgent("r", null, { startedAt: at(0) }),
  sampleAgent("a", "r", {
    startedAt: at(1),
    counts: { messages: 0, toolCalls: 2, toolErrors: 1, spawned: 1, refused: 0, descendants: 1, byStatus: {} },
  }),
  sampleAgent("a1", "a", {
    startedAt: at(2),
    endedAt: at(9),
    status: "errored",
    counts: { messages: 0, toolCalls: 3, toolErrors: 0, spawned: 0, refused: 0, descendants: 0, byStatus: {} },
  }),
  sampleAgent("b", "r", {
    startedAt: at(3),
    endedAt: at(5),
    counts: { messages: 0, toolCalls: 7, toolErrors: 0, spawned: 0, refused: 0, descendants: 0, byStatus: {} },
  }),
  sampleAgent("never", "r"),
];

describe("a set of agents", () => {
  it("does not depend on the order in which agents arrive", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(family, { minLength: family.length }), (shuffled) => {
        const set = new AgentSet();
        for (const record of shuffled) set.put(record);
        expect(drawn(rowsOf(set))).toEqual(["r", "  a", "    a1", "  b", "  never"]);
      }),
    );
  });

  it("accepts a whole tree of any depth", () => {
    let tree: AgentTree = { ...sampleAgent("n0", "n1"), children: [] };
    for (let depth = 1; depth <= 20_000; depth += 1)
      tree = { ...sampleAgent(`n${depth}`, depth === 20_000 ? null : `n${depth + 1}`), children: [tree] };
    const set = new AgentSet();
    set.putTree(tree);
    expect(set.size).toBe(20_001);
    expect(treeRows(set, "n20000", () => false, null, NOW)).toHaveLength(20_001);
    expect(set.sumsOf("n20000")?.agents).toBe(20_001);
  });

  it("moves an agent with everything below it", () => {
    const set = setOf(family);
    expect(set.put(sampleAgent("a", "b", { startedAt: at(1) }))).toBe("moved");
    expect(drawn(rowsOf(set))).toEqual(["r", "  b", "    a", "      a1", "  never"]);
    expect(set.put(sampleAgent("a", "r", { startedAt: at(1) }))).toBe("moved");
    expect(drawn(rowsOf(set))).toEqual(["r", "  a", "    a1", "  b", "  never"]);
    expect(set.put(sampleAgent("a", "r", { startedAt: at(1), title: "t" }))).toBe("changed");
  });

  it("drops removed agents", () => {
    const set = setOf(family);
    expect(set.remove("b")).toBe(true);
    expect(set.remove("b")).toBe(false);
    expect(drawn(rowsOf(set))).toEqual(["r", "  a", "    a1", "  never"]);
  });

  it("sums up subtrees", () => {
    const set = setOf(family);
    expect(set.sumsOf("r")).toMatchObject({
      toolCalls: 12,
      toolErrors: 1,
      agents: 5,
      from: NOW,
      to: NOW + 9_000,
      byStatus: { completed: 4, errored: 1 },
    });
    expect(set.sumsOf("a")).toMatchObject({ toolCalls: 5, agents: 2 });
    set.put({ ...(family[3] as AgentRecord), counts: { ...(family[3] as AgentRecord).counts, toolCalls: 8 } });
    expect(set.sumsOf("r")?.toolCalls).toBe(13);
  });

  it("accepts agents that name each other as parents", () => {
    const set = setOf([sampleAgent("r", null), sampleAgent("x", "y"), sampleAgent("y", "x")]);
    expect(drawn(rowsOf(set))).toEqual(["r"]);
    expect(set.pathTo("x").map((record) => record.uri)).toEqual(["y", "x"]);
    expect(set.subtree("x")).toEqual(["x", "y"]);
  });
});

describe("the rows of a tree", () => {
  it("can be folded", () => {
    expect(drawn(rowsOf(setOf(family), ["a", "b"]))).toEqual(["r", "  a+", "  b", "  never"]);
  });

  it("are sorted among their siblings", () => {
    expect(drawn(rowsOf(setOf(family), [], "-Σtools"))).toEqual(["r", "  b", "  a", "    a1", "  never"]);
    expect(drawn(rowsOf(setOf(family), [], "tools"))).toEqual(["r", "  never", "  a", "    a1", "  b"]);
    expect(drawn(rowsOf(setOf(family), [], "-name"))).toEqual(["r", "  never", "  b", "  a", "    a1"]);
    expect(drawn(rowsOf(setOf(family), [], "-nonsense"))).toEqual(["r", "  a", "    a1", "  b", "  never"]);
  });

  it("have a depth and a position among their siblings", () => {
    expect(rowsOf(setOf(family)).find((row) => row.uri === "b")).toMatchObject({
      depth: 1,
      position: 2,
      siblings: 3,
      children: 0,
    });
  });

  it("are sorted as stated in the URL", () => {
    for (const text of ["-Σcost", "time", "Σtokens", "-name"]) expect(formatSort(parseSort(text))).toBe(text);
    expect(parseSort(undefined)).toBeNull();
    expect(parseSort("a b")).toBeNull();
  });
});

function setOf(records: readonly AgentRecord[]): AgentSet {
  const set = new AgentSet();
  for (const record of records) set.put(record);
  return set;
}
