import { describe, expect, it } from "vitest";
import { AgentSet } from "./agent-set.ts";
import { graph } from "./graph.ts";
import { boxesOf, icicle } from "./icicle.ts";
import { sampleAgent } from "./sample.ts";
import { SpanSet } from "./span-set.ts";
import { treeRows } from "./tree-rows.ts";
import type { AgentTree } from "./types.ts";
import { waterfall } from "./waterfall.ts";

const LEVELS = 10_000;

describe(`a tree ${LEVELS} levels deep`, () => {
  const set = new AgentSet();
  const uri = (level: number) => `claude://thread/${level}`;
  let tree: AgentTree | null = null;
  for (let level = LEVELS; level >= 0; level -= 1)
    tree = { ...sampleAgent(uri(level), level === 0 ? null : uri(level - 1)), children: tree === null ? [] : [tree] };
  set.putTree(tree as AgentTree);

  it("is shown by every view", () => {
    expect(set.sumsOf(uri(0))?.agents).toBe(LEVELS + 1);
    expect(set.pathTo(uri(LEVELS))).toHaveLength(LEVELS + 1);
    expect(treeRows(set, uri(0), () => false, null, 0).at(-1)?.depth).toBe(LEVELS);
    expect(waterfall(set, uri(0), new SpanSet(), 0).rows).toHaveLength(LEVELS + 1);
    const drawing = icicle(set, uri(0), () => 1);
    expect(drawing.levels).toBe(LEVELS + 1);
    expect(boxesOf(drawing, { from: 0, to: 1 }, 1_000, 0)).toHaveLength(LEVELS + 1);
    const drawn = graph(set, uri(0), [], { width: 1_000, height: 1_000 });
    expect(drawn.nodes).toHaveLength(LEVELS + 1);
    expect(drawn.edges).toHaveLength(LEVELS);
  });
});
