/** The homes that the benchmark reads: as large as they say, the same for the same seed, and read to the last token. */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bytes, markdownTable, parseBytes } from "../scripts/bench/format.ts";
import { writeHome } from "../scripts/bench/home.ts";
import { fileSizes, sizeAt, usualFileCount } from "../scripts/bench/sizes.ts";
import { readMachine } from "../src/app/machine.ts";
import { treeOf } from "../src/core/record.ts";
import { scratchFolder } from "./bad-input/homes.ts";
import { filesBelow } from "./fixtures.ts";

const scratch = scratchFolder();
const digest = (folder: string) => {
  const hash = createHash("sha256");
  for (const path of filesBelow(folder)) hash.update(path).update(readFileSync(join(folder, path)));
  return hash.digest("hex");
};

describe("a generated home", () => {
  const options = { bytes: 4_000_000, sessions: 12, seed: 7 };

  it("is the same for the same seed, and another for another", () => {
    const [a, b, c] = ["a", "b", "c"].map((name) => join(scratch(), name)) as [string, string, string];
    const stats = writeHome(a, options);
    expect(writeHome(b, options)).toEqual({ ...stats, newest: { ...stats.newest, path: stats.newest.path.replace(a, b) } });
    expect(digest(a)).toBe(digest(b));
    writeHome(c, { ...options, seed: 8 });
    expect(digest(a)).not.toBe(digest(c));
  });

  it("holds what its numbers say, and all of it is found", async () => {
    const home = join(scratch(), "read");
    const stats = writeHome(join(home, ".claude"), options);
    const transcripts = filesBelow(home).filter((path) => path.endsWith(".jsonl"));
    expect(transcripts.length).toBe(stats.files);
    expect(transcripts.reduce((sum, path) => sum + statSync(join(home, path)).size, 0)).toBe(stats.bytes);
    expect(stats.bytes / options.bytes).toBeGreaterThan(0.9);
    expect(stats.bytes / options.bytes).toBeLessThan(1.5);

    const machine = await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "data") } });
    const found = machine.forest.roots.map((key) => treeOf(machine.forest, key, () => null));
    expect(machine.problems).toEqual([]);
    expect(machine.counts.lines).toBe(stats.lines);
    expect([found.length, found.reduce((sum, tree) => sum + tree.counts.descendants, 0)]).toEqual([stats.sessions, stats.agents]);
    expect(found.reduce((sum, { usage }) => sum + usage.subtree.calls, 0)).toBe(stats.calls);
    expect(found.reduce((sum, { usage }) => sum + usage.subtree.outputTokens, 0)).toBe(stats.outputTokens);
    expect(found[0]?.sessionId).toBe(stats.newest.id);
    const depths = [...machine.forest.agents.values()].map((agent) => agent.depth);
    expect(Math.max(...depths)).toBeGreaterThan(1);
  });
});

describe("file sizes", () => {
  it("have the quantiles that are published", () => {
    expect([0.5, 0.75, 0.9, 0.95, 0.99, 1].map(sizeAt)).toEqual([105_000, 234_000, 654_000, 1_500_000, 5_400_000, 87_000_000]);
  });

  it("have the mean that is published: 3,142 files are 1,239 MiB", () => {
    expect(usualFileCount(1_239 * 1024 * 1024) / 3_142).toBeCloseTo(1, 1);
  });

  it("add up, however many there are", () => {
    for (const count of [1, 10, 1_000]) {
      const sum = fileSizes(50_000_000, count, 1).reduce((total, size) => total + size);
      expect(sum / 50_000_000).toBeCloseTo(1, 3);
    }
  });
});

describe("words of the benchmark", () => {
  it.each([
    ["100MB", 100e6],
    ["1.5GB", 1.5e9],
    ["20k", 20e3],
    ["7", 7],
  ])("%s is a size", (words, size) => {
    expect(parseBytes(words)).toBe(size);
  });

  it("are refused where they are none", () => {
    expect(() => parseBytes("much")).toThrow("much: not a size");
  });

  it("stand in a table that can be read as text", () => {
    expect(bytes(103_000_000)).toBe("103 MB");
    expect(markdownTable(["", "wall"], [["first", "1.00 s"]])).toBe("|       |   wall |\n| ----- | -----: |\n| first | 1.00 s |");
  });
});
