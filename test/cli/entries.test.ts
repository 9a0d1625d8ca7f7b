/** Threads that are trees of entries, as the command line shows them. */
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const { home, threads } = recordedHome("pi", "branches");
const THREAD = threads[0]?.root ?? "";
/** The last message of the abandoned branch. */
const LEFT = "7aaf3b25";

interface ShownEntry {
  readonly entry_id: string;
  readonly uri: string;
  readonly entry_type: string;
  readonly parent_id: string | null;
  readonly preview: string;
  readonly is_leaf: boolean;
}

describe("the head of a thread", () => {
  it("lists its entries, with the branch that ends at each", async () => {
    const { stdout } = await retinue(home, ["-I", THREAD]);
    const head = parse(stdout.replace(/^---\n|---\n?$/g, "")) as { entries: ShownEntry[]; subagents: unknown[] };
    const leaves = head.entries.filter((entry) => entry.is_leaf).map(({ entry_id, preview }) => [entry_id, preview]);
    expect(leaves).toEqual([
      [LEFT, "went the first way"],
      ["1a01223c", "a summary"],
    ]);
    const ids = new Set(head.entries.map((entry) => entry.entry_id));
    expect(head.entries.filter(({ parent_id }) => parent_id !== null && !ids.has(parent_id))).toEqual([]);
    expect(head.entries.map(({ entry_type }) => entry_type)).toEqual(
      expect.arrayContaining(["message", "branch_summary", "compaction"]),
    );
    expect(head.subagents).toHaveLength(1);
  });

  it("has no entries if the product has none", async () => {
    expect(await retinueJson(recordedHome("claude", "a-single").home, ["-I", "latest"])).not.toHaveProperty("entries");
  });
});

describe("an entry", () => {
  it("is the branch that ends there", async () => {
    const shown = (await retinueJson(home, [`pi://${THREAD}/${LEFT}`])) as ShownEntry & {
      mode: string;
      events: { text: string | null }[];
    };
    expect(shown).toMatchObject({ mode: "entry", uri: `pi://${THREAD}/${LEFT}`, is_leaf: true });
    const texts = shown.events.map(({ text }) => text);
    expect(texts).toContain("went the first way");
    expect(texts).not.toContain("went the second way");
  });

  it("is shown as Markdown", async () => {
    const { code, stdout } = await retinue(home, [`latest/${LEFT}`]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^---\nuri: pi:.*\n[\s\S]*mode: entry\n[\s\S]*---\n\n# Thread Entry\n/);
  });

  it("that does not exist is reported like a missing agent", async () => {
    const { code, stderr } = await retinue(home, [`pi://${THREAD}/ffffffff`]);
    expect(code).toBe(1);
    expect(stderr).toContain(`no agent ffffffff in pi://${THREAD}`);
  });
});
