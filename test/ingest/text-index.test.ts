/** Text is indexed after the records were read, newest first, and a search reports how far back it reaches. */
import { spawn } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HomeStats, writeHome } from "../../scripts/bench/home.ts";
import { Library } from "../../src/app/ingest/library.ts";
import { live } from "../../src/app/live/live.ts";
import { Troubles } from "../../src/app/live/troubles.ts";
import { indexMissing, search, unsearched } from "../../src/app/query/search.ts";
import type { Store } from "../../src/core/ports/store.ts";
import type { Hub } from "../../src/server/hub.ts";
import { LocalCatalog } from "../../src/server/local-catalog.ts";
import { overviewRoutes } from "../../src/server/routes/overview.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { filesBelow } from "../support/fixtures.ts";
import { until } from "../support/server.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-text-"));
const home = join(scratch, "home");
const FREE = { price: () => null, now: () => Date.parse("2027-01-01"), liveness: () => "gone" as const };
let written: HomeStats;
beforeAll(() => {
  written = writeHome(join(home, ".claude"), { bytes: 4 << 20, seed: 19, sessions: 60 });
});
afterAll(() => rmSync(scratch, { recursive: true }));

const fresh = () => join(mkdtempSync(join(scratch, "data-")), "index.sqlite");
const stores: Record<string, () => Promise<Store>> = {
  memory: async () => new MemoryStore(),
  sqlite: () => openSqliteStore(fresh(), "test"),
};
const open = (store: Store, where = home) =>
  new Library({ env: { HOME: where, RETINUE_HOME: join(scratch, "none") }, store, ...FREE });
const timesOf = (names: readonly string[]) =>
  new Map(names.map((name) => [join(home, name), statSync(join(home, name)).mtimeMs]));

/** The content of the index, independent of the order of indexing. */
function indexed(path: string) {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db
    .prepare(
      "SELECT d.path || '/' || f.name AS path, said.line, said.at, s.key FROM said JOIN file f ON f.id = said.file JOIN folder d ON d.id = f.folder JOIN speaker s ON s.id = said.speaker ORDER BY 1, 2, 3, 4",
    )
    .all();
  const words = db.prepare("SELECT count(*) AS n FROM words").get()?.n;
  const due = db.prepare("SELECT count(*) AS n FROM text_due").get()?.n;
  db.close();
  return { rows, words, due };
}

describe.each(Object.entries(stores))("%s store", (_, make) => {
  it("a sync indexes no text; a search indexes up to its limit, newest first, and reports its reach", async () => {
    const store = await make();
    const library = open(store);
    await library.refresh();
    const times = timesOf(filesBelow(home));
    expect(store.search(["parse"], library.under, 1_000)).toEqual([]);
    expect(library.texts.left?.files).toBe(written.files);
    await search(library, ["parse"], 1, 1 << 20);
    const some = unsearched(library);
    expect(some?.files).toBeGreaterThan(0);
    expect(some?.files).toBeLessThan(written.files);
    expect(some?.reachesMs).toBeLessThan(Math.max(...times.values()));
    for (const { path } of store.textsDue(library.under))
      expect(times.get(path)).toBeLessThanOrEqual(some?.reachesMs ?? 0);
    await indexMissing(library, Number.POSITIVE_INFINITY);
    expect(unsearched(library)).toBeNull();
    expect(store.search(["parse"], library.under, 1_000).length).toBeGreaterThan(100);
    expect(await library.indexTexts()).toBe(0);
    store.close();
  });

  it("appended text is indexed once, with its record", async () => {
    const where = mkdtempSync(join(scratch, "grows-"));
    cpSync(home, where, { recursive: true, preserveTimestamps: true });
    const path = join(where, written.newest.path.slice(home.length));
    const line = (words: string) =>
      `${JSON.stringify({ type: "user", uuid: `uuid-of-${words}-long-enough`, sessionId: written.newest.id, timestamp: "2026-12-01T00:00:00Z", isSidechain: false, message: { role: "user", content: words } })}\n`;
    const store = await make();
    const library = open(store, where);
    await library.refresh();
    // Before anything is indexed: it is found together with the rest of the file.
    appendFileSync(path, line("xylophones"));
    await library.refreshPaths([path]);
    expect(store.search(["xylophones"], library.under, 9)).toEqual([]);
    await indexMissing(library, Number.POSITIVE_INFINITY);
    expect(store.search(["xylophones"], library.under, 9)).toHaveLength(1);
    appendFileSync(path, line("zeppelins"));
    await library.refreshPaths([path]);
    expect(store.search(["zeppelins"], library.under, 9)).toHaveLength(1);
    expect(library.texts.left).toBeNull();
    // A rewritten file is indexed again.
    writeFileSync(path, line("quetzals"));
    await library.refreshPaths([path]);
    expect(store.search(["zeppelins"], library.under, 9)).toEqual([]);
    await indexMissing(library, Number.POSITIVE_INFINITY);
    expect(store.search(["quetzals"], library.under, 9)).toHaveLength(1);
    truncateSync(path, 0);
    rmSync(path);
    await library.refreshPaths([path]);
    expect(library.texts.left).toBeNull();
    store.close();
  });
});

describe("nothing is lost and nothing is indexed twice", () => {
  const whole = fresh();
  beforeAll(async () => {
    const store = await openSqliteStore(whole, "test");
    const library = open(store);
    await library.refresh();
    await indexMissing(library, Number.POSITIVE_INFINITY);
    store.close();
  });

  it("if a process ends after every portion, and two work at once", async () => {
    const path = fresh();
    const first = await openSqliteStore(path, "test");
    await open(first).refresh();
    first.close();
    for (let left = 1; left > 0; ) {
      const [store, other] = [await openSqliteStore(path, "test"), await openSqliteStore(path, "test")];
      const [library, beside] = [open(store), open(other)];
      await library.refresh();
      await beside.refresh();
      [left] = await Promise.all([library.indexTexts(), beside.indexTexts()]);
      for (const s of [store, other]) s.close();
    }
    expect(indexed(path)).toEqual(indexed(whole));
    expect(indexed(path)).toMatchObject({ due: 0, words: indexed(whole).rows.length });
  });

  it("if a process is killed at any moment", { timeout: 60_000 }, async () => {
    const data = mkdtempSync(join(scratch, "killed-"));
    const run = () =>
      spawn(process.execPath, [MAIN, "search", "--wait", "parse"], {
        env: { PATH: process.env.PATH ?? "", ...COMPILED, HOME: home, RETINUE_HOME: data },
        stdio: "ignore",
      });
    const path = join(data, "index.sqlite");
    const size = () =>
      [path, `${path}-wal`].reduce((sum, one) => sum + (statSync(one, { throwIfNoEntry: false })?.size ?? 0), 0);
    for (const more of [1, 300_000, 600_000]) {
      const [child, before] = [run(), size()];
      await until(() => size() >= before + more || child.exitCode !== null);
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await new Promise((ended) => child.once("exit", ended));
    }
    const last = run();
    await new Promise((ended) => last.once("exit", ended));
    expect(indexed(path)).toEqual(indexed(whole));
  });
});

describe("while a client is connected", () => {
  it("text is indexed in the background after all records were read", { timeout: 60_000 }, async () => {
    const store = await openSqliteStore(fresh(), "test");
    const library = open(store);
    const stop = new AbortController();
    const watching = (async () => {
      for await (const _ of live(library, { signal: stop.signal }));
    })();
    await until(() => library.reading === null && !library.isBehind);
    expect(library.texts.left).toBeNull();
    expect(store.search(["parse"], library.under, 1_000).length).toBeGreaterThan(0);
    stop.abort();
    await watching;
    store.close();
  });

  it("the API reports how far back a search reaches, and each search indexes more", async () => {
    const store = await openSqliteStore(fresh(), "test");
    const library = open(store);
    await library.refresh();
    const catalog = new LocalCatalog(library, {} as Hub, { watching: true, troubles: new Troubles() });
    const routes = overviewRoutes(
      () => catalog,
      () => ({}),
    );
    type Page = {
      readonly items: readonly unknown[];
      readonly incomplete: { readonly files: number; readonly reaches: string } | null;
    };
    const ask = async () => (await (await routes.request("/search?q=parse")).json()) as Page;
    const left: number[] = [];
    for (let { incomplete } = await ask(); incomplete !== null; { incomplete } = await ask()) {
      expect(Date.parse(incomplete.reaches)).toBeGreaterThan(0);
      left.push(incomplete.files);
    }
    expect(left.length).toBeGreaterThan(1);
    expect(left).toEqual(left.toSorted((a, b) => b - a));
    store.close();
  });
});

it("indexing reads a file again only up to the known records", async () => {
  const store = await openSqliteStore(fresh(), "test");
  const library = open(store);
  await library.refresh();
  await indexMissing(library, Number.POSITIVE_INFINITY);
  const bytes = filesBelow(home)
    .filter((name) => name.endsWith(".jsonl"))
    .reduce((sum, name) => sum + readFileSync(join(home, name)).length, 0);
  expect(library.texts.counts.bytes).toBeGreaterThanOrEqual(bytes);
  expect(library.texts.counts.bytes).toBeLessThan(bytes * 1.3);
  store.close();
});
