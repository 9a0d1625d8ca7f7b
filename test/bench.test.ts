/** The generated homes of the benchmark: of the stated size, the same for the same seed, and read to the last token. */
import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { appendSection, longThread } from "../scripts/bench/append.ts";
import { busySection } from "../scripts/bench/busy.ts";
import { firstSection, newestSection } from "../scripts/bench/first.ts";
import { bytes, held, markdownTable, milliseconds, parseBytes } from "../scripts/bench/format.ts";
import { writeHome } from "../scripts/bench/home.ts";
import { readOptions, TABLE_NAMES } from "../scripts/bench/options.ts";
import { sectionOf, withSections } from "../scripts/bench/page.ts";
import { readersSection } from "../scripts/bench/readers.ts";
import { writeRollouts } from "../scripts/bench/rollouts.ts";
import { fileSizes, sizeAt, usualFileCount } from "../scripts/bench/sizes.ts";
import { readMachine } from "../src/app/machine.ts";
import { treeOf } from "../src/core/views/record.ts";
import { scratchFolder } from "./support/bad-input/homes.ts";
import { filesBelow } from "./support/fixtures.ts";

const scratch = scratchFolder();
const digest = (folder: string) => {
  const hash = createHash("sha256");
  for (const path of filesBelow(folder)) hash.update(path).update(readFileSync(join(folder, path)));
  return hash.digest("hex");
};

describe("a generated home", () => {
  const options = { bytes: 4_000_000, sessions: 12, seed: 7 };

  it("is the same for the same seed, and differs for another", () => {
    const [a, b, c] = ["a", "b", "c"].map((name) => join(scratch(), name)) as [string, string, string];
    const stats = writeHome(a, options);
    expect(writeHome(b, options)).toEqual({
      ...stats,
      newest: { ...stats.newest, path: stats.newest.path.replace(a, b) },
    });
    expect(digest(a)).toBe(digest(b));
    writeHome(c, { ...options, seed: 8 });
    expect(digest(a)).not.toBe(digest(c));
  });

  it("contains the stated numbers of records, and all of them are found", async () => {
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
    expect([found.length, found.reduce((sum, tree) => sum + tree.counts.descendants, 0)]).toEqual([
      stats.sessions,
      stats.agents,
    ]);
    expect(found.reduce((sum, { usage }) => sum + usage.subtree.calls, 0)).toBe(stats.calls);
    expect(found.reduce((sum, { usage }) => sum + usage.subtree.outputTokens, 0)).toBe(stats.outputTokens);
    expect(found[0]?.sessionId).toBe(stats.newest.id);
    const depths = [...machine.forest.agents.values()].map((agent) => agent.depth);
    expect(Math.max(...depths)).toBeGreaterThan(1);
  });
});

describe("generated rollouts", () => {
  it("are the same for the same seed, and read to the last token", async () => {
    const home = join(scratch(), "rollouts");
    const [options, folder] = [{ bytes: 700_000, seed: 3 }, join(home, ".codex")];
    const stats = writeRollouts(folder, options);
    expect(writeRollouts(join(home, "again"), options)).toEqual(stats);
    expect(digest(join(home, "again"))).toBe(digest(folder));
    expect(filesBelow(folder).reduce((sum, path) => sum + statSync(join(folder, path)).size, 0)).toBe(stats.bytes);
    const machine = await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "data") } });
    const found = machine.forest.roots.map((key) => treeOf(machine.forest, key, () => null));
    expect([found.length, machine.counts.lines, machine.problems]).toEqual([stats.files, stats.lines, []]);
    expect(found.reduce((sum, { usage }) => sum + usage.subtree.calls, 0)).toBe(stats.calls);
    expect(found.reduce((sum, { usage }) => sum + usage.subtree.outputTokens, 0)).toBe(stats.outputTokens);
  });
});

describe("a long thread", () => {
  it("has the given number of records, a second apart, and can grow", async () => {
    const home = join(scratch(), "long");
    const load = longThread(home, 700);
    load.write(2, 1);
    const machine = await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "data") } });
    const [root] = machine.forest.roots;
    const tree = treeOf(machine.forest, root as never, () => null);
    expect([tree.sessionId, machine.counts.lines, tree.usage.subtree.calls]).toEqual([
      load.first,
      702,
      load.written.calls,
    ]);
    expect(Math.round(Number(tree.durationMs) / 1_000)).toBeGreaterThan(690);
    expect(Date.now() - Date.parse(tree.lastActivityAt ?? "")).toBeLessThan(60_000);
  });
});

describe("file sizes", () => {
  it("have the published quantiles", () => {
    expect([0.5, 0.75, 0.9, 0.95, 0.99, 1].map(sizeAt)).toEqual([
      105_000, 234_000, 654_000, 1_500_000, 5_400_000, 87_000_000,
    ]);
  });

  it("have the published mean: 3,142 files are 1,239 MiB", () => {
    expect(usualFileCount(1_239 * 1024 * 1024) / 3_142).toBeCloseTo(1, 1);
  });

  it("add up for any number of files", () => {
    for (const count of [1, 10, 1_000]) {
      const sum = fileSizes(50_000_000, count, 1).reduce((total, size) => total + size);
      expect(sum / 50_000_000).toBeCloseTo(1, 3);
    }
  });
});

describe("sizes and limits of the benchmark", () => {
  it.each([
    ["100MB", 100e6],
    ["1.5GB", 1.5e9],
    ["20k", 20e3],
    ["7", 7],
  ])("%s is a size", (words, size) => {
    expect(parseBytes(words)).toBe(size);
  });

  it("are rejected if they are invalid", () => {
    expect(() => parseBytes("much")).toThrow("much: not a size");
  });

  it("are printed as a readable table", () => {
    expect(bytes(103_000_000)).toBe("103 MB");
    expect(markdownTable(["", "wall"], [["first", "1.00 s"]])).toBe(
      "|       |   wall |\n| ----- | -----: |\n| first | 1.00 s |",
    );
  });

  it("are marked if a limit is exceeded", () => {
    expect([held("at most 8 ms", true), held("at most 8 ms", false), milliseconds(0.0123)]).toEqual([
      "at most 8 ms",
      "**at most 8 ms**",
      "12.3 ms",
    ]);
  });
});

describe("options of the benchmark", () => {
  it("select one or several tables", () => {
    expect(readOptions([])?.only).toEqual(TABLE_NAMES);
    expect(readOptions(["--only", "append"])?.only).toEqual(["append"]);
    expect(readOptions(["--only", "proxy,first"])?.only).toEqual(["proxy", "first"]);
    expect(() => readOptions(["--only", "all"])).toThrow("--only all: no such table");
    expect(readOptions(["--help"])).toBeNull();
  });

  it("set sizes, with 10 GB only on request, and a quick form", () => {
    expect(readOptions([])).toMatchObject({
      sizes: [100e6, 1e9],
      sessions: 10_000,
      lengths: [500, 2_000, 8_000, 24_000, 100_000],
      threads: 20,
      rate: 40,
    });
    expect(readOptions(["--huge"])?.sizes).toEqual([100e6, 1e9, 10e9]);
    expect([readOptions([])?.many, readOptions(["--many"])?.many]).toEqual([false, true]);
    expect(readOptions(["--quick", "--lengths", "700"])).toMatchObject({ sizes: [5e6], lengths: [700], runs: 1 });
    expect(() => readOptions(["--runs", "0"])).toThrow("--runs 0: not a whole number of at least 1");
  });
});

describe("tables of the benchmark", () => {
  const run = (cpuSeconds: number, wallSeconds = cpuSeconds) => ({
    cpuSeconds,
    wallSeconds,
    peakBytes: 100e6,
    stdout: "",
  });
  const home = {
    sessions: 1,
    agents: 2,
    files: 3,
    bytes: 100e6,
    lines: 5,
    calls: 6,
    outputTokens: 7,
    newest: { id: "", path: "" },
  };
  const boldIn = (section: string) => [...section.matchAll(/\*\*(.*?)\*\*/g)].map(([, words]) => words);

  it("list the limits that are exceeded", () => {
    const look = { home, ccusage: run(1), ours: run(3.9), kept: 4e6 };
    expect(boldIn(firstSection([look]))).toEqual([]);
    expect(boldIn(firstSection([{ ...look, ours: { ...run(4.1), peakBytes: 301e6 }, kept: 6e6 }]))).toEqual([
      "at most 4×",
      "at most 300 MB",
      "at most 5 %",
    ]);
    expect(boldIn(newestSection([{ home, newest: run(0.09), whole: run(1) }]))).toEqual([]);
    expect(boldIn(newestSection([{ home, newest: run(0.2), whole: run(1) }]))).toEqual(["at most 10 %"]);
    const cost = { records: 500, followed: 0.004, waterfall: 0.005, ccusage: 0.1 };
    expect(boldIn(appendSection([cost, { ...cost, records: 2_000, followed: 0.0059 }], 40))).toEqual([]);
    expect(boldIn(appendSection([cost, { ...cost, records: 2_000, followed: 0.009 }], 40))).toEqual([
      "at most 8 ms",
      "at most 1.50×",
    ]);
    const options = { threads: 20, rate: 40, seconds: 60 };
    const part = { until: 15, records: 12_000, cpu: 0.3, bytes: 300e6 };
    expect(boldIn(busySection(options, { parts: [part], messages: 9, ccusage: 1 }))).toEqual([]);
    expect(
      boldIn(busySection(options, { parts: [{ ...part, cpu: 0.4, bytes: 500e6 }], messages: 9, ccusage: 1 })),
    ).toEqual(["at most 33 %", "at most 400 MB"]);
  });

  it("compare the reader of every product with that of Claude Code", () => {
    const speed = { shapes: ["lines"], bytes: 2e6, records: 1_000, seconds: [1, 9, 2] };
    const claude = { ...speed, product: "claude", seconds: [2] };
    expect(boldIn(readersSection([claude, { ...speed, product: "pi" }]))).toEqual([]);
    expect(boldIn(readersSection([claude, { ...speed, product: "pi", bytes: 1e6 }]))).toEqual(["at least 0.80×"]);
    expect(boldIn(readersSection([claude, { ...speed, product: "kilo", seconds: [2.6] }]))).toEqual(["at least 0.80×"]);
  });

  it("replace the one with the same title on the page, and keep the others", () => {
    const page = withSections(
      "",
      "# Benchmarks",
      [sectionOf("## One\n\nfirst\n"), sectionOf("## Two\n\n### Part\n\nsecond")],
      ["Two", "One"],
    );
    expect(page).toBe("# Benchmarks\n\n## Two\n\n### Part\n\nsecond\n\n## One\n\nfirst\n");
    expect(withSections(page, "# Benchmarks", [{ title: "One", text: "again" }], ["Two", "One"])).toBe(
      page.replace("first", "again"),
    );
    expect(withSections(page, "# Benchmarks", [{ title: "New", text: "third" }], ["New"])).toBe(
      page.replace("## Two", "## New\n\nthird\n\n## Two"),
    );
  });
});
