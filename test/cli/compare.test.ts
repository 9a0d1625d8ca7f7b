/** `retinue compare` over recordings. */
import { describe, expect, it } from "vitest";
import type { ComparedThreads } from "../../src/app/query/compare.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const { home, threads } = recordedHome("claude", "c-nested");
const ROOT = `claude://${threads[0]?.root}`;

describe("compare", () => {
  it("finds no difference between a tree and itself, and matches every agent with itself", async () => {
    const found = (await retinueJson(home, ["compare", ROOT, ROOT])) as ComparedThreads;
    const agents = threads[0]?.agents.length ?? 0;
    expect(found.trees?.agents.length).toBe(agents);
    for (const { left, right, differs } of found.trees?.agents ?? []) {
      expect(left).toEqual(right);
      expect(differs).toEqual([]);
    }
    expect(new Set(found.measures.map(({ difference }) => difference))).toEqual(new Set(["none"]));
  });

  it("has the sums of the trees, and every agent of both once", async () => {
    const tree = (await retinueJson(home, ["tree", ROOT])) as AgentTree;
    const child = tree.children[0]?.uri ?? "";
    const found = (await retinueJson(home, ["compare", ROOT, child])) as ComparedThreads;
    expect(found.trees?.left).toMatchObject({ calls: tree.usage.subtree.calls, agents: tree.counts.descendants + 1 });
    const uris = (found.trees?.agents ?? []).flatMap(({ left }) => left?.uri ?? []);
    expect(new Set(uris).size).toBe(tree.counts.descendants + 1);
    const right = (found.trees?.agents ?? []).flatMap((pair) => pair.right?.uri ?? []);
    expect(new Set(right).size).toBe((tree.children[0]?.counts.descendants ?? 0) + 1);
  });

  it("prints both sides, and for groups whether the difference is within the spread", async () => {
    const pair = await retinue(home, ["compare", ROOT, ROOT]);
    expect(pair.stdout).toContain("MATCHED BY");
    const tree = (await retinueJson(home, ["tree", ROOT])) as AgentTree;
    const all = [ROOT, tree.children[0]?.uri].join(",");
    const groups = await retinue(home, ["compare", all, all]);
    expect([groups.code, groups.stdout.includes("2 threads"), groups.stdout.includes("the same")]).toEqual([
      0,
      true,
      true,
    ]);
  });

  it("counts a thread once that is named twice", async () => {
    const short = ROOT.slice(0, "claude://".length + 8);
    const found = (await retinueJson(home, ["compare", `${ROOT},${short}`, ROOT])) as ComparedThreads;
    expect([found.left, found.trees === null]).toEqual([[ROOT], false]);
  });

  it("rejects what is not a URI", async () => {
    expect((await retinue(home, ["compare", "nowhere://x", ROOT])).code).toBe(2);
    expect((await retinue(home, ["compare", ",", ROOT])).code).toBe(2);
  });
});
