/** `retinue tree --timeline`: the waterfall in a terminal. */
import { describe, expect, it } from "vitest";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const NESTED = recordedHome("claude", "c3-nested-parallel").home;

describe("tree --timeline", () => {
  it("draws when each agent worked and waited, and the critical path", async () => {
    const { stdout, code } = await retinue(NESTED, ["tree", "latest", "--timeline"], { COLUMNS: "80" });
    expect(code).toBe(0);
    expect(stdout.split("\n").slice(2, 14)).toEqual([
      "                     0                   ╷1.9 s                   PATH      TIME",
      "Grow a tree. @@main  ··██──────────█─────────────────────────█    29 %     3.9 s",
      "├─ Parent A             ·██─────█                                         782 ms",
      "│  ├─ Leaf A1             ··▒▒▒█                                          534 ms",
      "│  ├─ Leaf A2             ··██▒██                                         524 ms",
      "│  └─ Leaf A3             ··█                                             188 ms",
      "└─ Parent B             ·██▒▒▒▒█───█                                      969 ms",
      "   ├─ Leaf B1                 ··█▒█                                       363 ms",
      "   ├─ Leaf B2                  ·█▒▒                                       343 ms",
      "   └─ Leaf B3 late             ·█▒▒▒▒▒▒▒▒▒▒▒▒████████████████     71 %     2.8 s",
      "",
      "critical path: Leaf B3 late 2.8 s, Grow a tree. @@main 1.1 s",
    ]);
  });

  it.each(["40", "80", "200"])("fits into a terminal of %s columns", async (columns) => {
    const { stdout } = await retinue(NESTED, ["tree", "latest", "--timeline", "--all"], { COLUMNS: columns });
    for (const line of stdout.split("\n")) expect([...line].length).toBeLessThanOrEqual(Number(columns));
  });

  it("draws the subtree of one agent, and marks failures", async () => {
    const { stdout } = await retinue(recordedHome("claude", "e-fail").home, ["tree", "latest", "--timeline"], {
      COLUMNS: "80",
    });
    expect(stdout).toMatch(/Fails TOOL +█xx█/);
  });

  it("reports that no agent has a time, and prints everything as JSON", async () => {
    const { items, criticalPath } = (await retinueJson(NESTED, ["tree", "latest", "--timeline"])) as {
      items: { uri: string; spans: { from: number }[] }[];
      criticalPath: { uri: string; from: number; to: number }[];
    };
    expect(items).toHaveLength(9);
    expect(items.every(({ spans }) => spans.length > 0)).toBe(true);
    expect(criticalPath.map(({ uri }) => uri.split("/").length)).toEqual([3, 4, 3]);
  });
});
