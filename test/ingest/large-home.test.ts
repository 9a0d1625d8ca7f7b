/** A large home: nothing is read twice, nothing is missing, and the trees equal those of a store in memory. */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HomeStats, writeHome } from "../../scripts/bench/home.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import { readMachine } from "../../src/app/machine.ts";
import { openLibrary } from "../../src/app/open.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { mainWriter, THREAD_FILE, text } from "../support/claude-records.ts";
import { filesBelow } from "../support/fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-large-"));
const env = { HOME: scratch, RETINUE_HOME: join(scratch, "data") };
let written: HomeStats;
beforeAll(() => {
  written = writeHome(join(scratch, ".claude"), { bytes: 30 << 20, seed: 7 });
});
afterAll(() => rmSync(scratch, { recursive: true }));

function treesOf(library: Library): unknown {
  const forest = library.forestOf(library.store.roots({ under: library.under, limit: 10_000 }).map((row) => row.key));
  return forest.roots.map((key) => treeOf(forest, key, () => null)).sort((a, b) => (a.uri < b.uri ? -1 : 1));
}

describe("a large home", () => {
  it("is read once, and gives the same trees", { timeout: 120_000 }, async () => {
    const progress: number[] = [];
    const library = await openLibrary({
      env,
      settings: await loadSettings(env),
      notify: () => {},
      onProgress: (done) => progress.push(done),
    });
    await library.refresh();
    const files = filesBelow(join(scratch, ".claude"));
    expect(library.counts.lines).toBe(written.lines);
    expect(library.counts.bytes).toBeLessThan(
      files.reduce((sum, path) => sum + statSync(join(scratch, ".claude", path)).size + 200, 0),
    );
    expect(Math.max(...progress)).toBe(files.length);
    expect(library.store.stale()).toEqual([]);
    const output = library.store
      .roots({ under: library.under, limit: 10_000 })
      .reduce((sum, { record }) => sum + record.usage.subtree.outputTokens, 0);
    expect(output).toBe(written.outputTokens);
    const { library: memory } = await readMachine({ env });
    expect(treesOf(library)).toEqual(treesOf(memory));
    library.close();
  });

  it("is not read again afterwards", async () => {
    const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
    await library.refresh();
    expect(library.counts).toEqual({ files: 0, bytes: 0, lines: 0, queries: 0, rows: 0 });
    library.close();
  });
});

describe("a giant record", () => {
  it("is read like any other", { timeout: 120_000 }, async () => {
    const home = mkdtempSync(join(scratch, "giant-"));
    const [main, file] = [mainWriter(), join(home, ".claude", THREAD_FILE)];
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(
      file,
      [main.user("hello"), main.assistant([text("word ".repeat(10_000_000))])]
        .map((record) => `${JSON.stringify(record)}\n`)
        .join(""),
    );
    const own = { HOME: home, RETINUE_HOME: join(home, "data") };
    const library = await openLibrary({ env: own, settings: await loadSettings(own), notify: () => {} });
    await library.refresh();
    expect([...library.threads({})]).toMatchObject([{ status: "completed", counts: { messages: 2 } }]);
    library.close();
  });
});
