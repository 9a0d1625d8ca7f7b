/** `retinue tree --timeline`: the waterfall in a terminal. */
import { describe, expect, it } from "vitest";
import { scratchFolder, spoilable } from "../support/bad-input/homes.ts";
import { mainWriter, SESSION, THREAD_FILE } from "../support/claude-records.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const scratch = scratchFolder();
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

  it("says so if no record has a time", async () => {
    const home = spoilable(scratch(), "a-single");
    const { timestamp: _, ...untimed } = mainWriter().user("Hello") as Record<string, unknown>;
    home.put(THREAD_FILE, `${JSON.stringify(untimed)}\n`);
    const { stdout, code } = await retinue(home.home, ["tree", `claude://${SESSION}`, "--timeline"]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("none of its records has a time")]);
  });

  it("prints the spans of every agent and the critical path as JSON", async () => {
    const { items, criticalPath } = (await retinueJson(NESTED, ["tree", "latest", "--timeline"])) as {
      items: { uri: string; spans: { from: number }[] }[];
      criticalPath: { uri: string; from: number; to: number }[];
    };
    expect(items).toHaveLength(9);
    expect(items.every(({ spans }) => spans.length > 0)).toBe(true);
    expect(criticalPath.map(({ uri }) => uri.split("/").length)).toEqual([3, 4, 3]);
  });
});
