/** Products that keep their records in a database: what is read, what it costs, and errors. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { live } from "../../src/app/live/live.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { search } from "../../src/app/query/search.ts";
import { threadKey } from "../../src/core/facts/ids.ts";
import { agentOf } from "../../src/core/link/forest.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { openSqliteStore } from "../../src/stores/sqlite/store.ts";
import { noReads } from "../../src/transports/files.ts";
import { allFacts } from "../support/facts.ts";
import { ToyProduct, toyProvider } from "../support/toy-database.ts";

let scratch = "";
let folder = "";
let path = "";
let product: ToyProduct;
let store: Store;
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-database-"));
  folder = join(scratch, "home", "toy");
  path = join(folder, "things.db");
  mkdirSync(folder, { recursive: true });
  product = new ToyProduct(path);
  store = await openSqliteStore(join(scratch, "data", "index.sqlite"), "test");
});
afterEach(() => {
  store.close();
  if (product.db.isOpen) product.close();
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

const options = () => ({
  env: { HOME: join(scratch, "home"), RETINUE_HOME: join(scratch, "data") },
  store,
  providers: [toyProvider],
  price: () => null,
});

async function refreshed(): Promise<Library> {
  const library = new Library(options());
  await library.refresh();
  return library;
}

/** A later time by the clock of the file system. */
function settle() {
  for (const file of [path, `${path}-wal`]) utimesSync(file, new Date(), new Date(Date.now() - 60_000));
}
const results = (library: Library) => Object.fromEntries([...library.threads({})].map((r) => [r.sessionId, r.result]));
const problemsOf = (library: Library) => library.problems.map((p) => [p.code, p.where.slice(folder.length + 1)]);
const MANY = 1_000;
const FEW = 120;
const DELETED = "its transcript was deleted; this is its content before";

function warnings(library: Library, things: readonly string[]): readonly (readonly string[])[] {
  const forest = library.forestOf(things.map((thing) => threadKey("toy", thing)));
  return things.map((thing) => agentOf(forest, threadKey("toy", thing)).warnings);
}

describe("work is proportional to what is new", () => {
  beforeEach(() => {
    product.db.exec("BEGIN");
    for (let n = 0; n < MANY; n += 1) product.write(`thing${n}`, "a", `answer ${n}`);
    for (let n = 0; n < 50; n += 1) product.write("thing7", `more${n}`, `more ${n}`);
    product.db.exec("COMMIT");
    settle();
  });

  it("a second sync opens nothing, and one changed object of thousands costs its new rows", async () => {
    const first = await refreshed();
    expect([first.counts.files, Object.keys(results(first)).length]).toEqual([1, MANY]);
    expect((await refreshed()).counts).toEqual(noReads());
    product.write("thing7", "new", "the newest answer");
    settle();
    const projected: string[] = [];
    const project = store.project.bind(store);
    store.project = (p) => {
      projected.push(...p.versions.keys());
      return project(p);
    };
    const second = await refreshed();
    expect(results(second).thing7).toBe("the newest answer");
    expect(projected).toEqual(["toy:thing7"]);
    // The schema and its version, the mark, deleted and changed objects, the extent: one or a few rows each; and the
    // new record.
    expect(second.counts.rows).toBeLessThan(20);
    expect(second.counts.bytes).toBeLessThan(200);
    expect(second.counts.queries).toBeLessThanOrEqual(7);
  });

  it("a changed row replaces its own facts only", async () => {
    await refreshed();
    product.write("thing7", "more49", "changed text");
    product.write("thing7", "one more", "…");
    settle();
    const library = await refreshed();
    const observations = allFacts(store.facts([threadKey("toy", "thing7")], library.under));
    expect(observations.filter((o) => o.type === "record").length).toBe(52);
    // It is unfinished, so it is read again although nothing indicates a change.
    product.db.exec("UPDATE line SET text = 'finished', at = at + 1 WHERE text = '…'");
    settle();
    const last = await refreshed();
    expect(results(last).thing7).toBe("finished");
    expect((await search(last, ["finished"], 5)).map((hit) => [hit.uri, hit.ref])).toEqual([
      ["toy://thing7", { path, row: "thing7-one more" }],
    ]);
    expect(await search(last, ["changed"], 5)).toHaveLength(1);
    expect((await search(last, ["more", "49"], 5)).map((hit) => hit.snippet)).toEqual([]);
    const events = await readEvents(last, last.forestOf([threadKey("toy", "thing7")]), [threadKey("toy", "thing7")]);
    expect(events.filter((e) => e.kind === "assistant").map((e) => e.text)).toContain("changed text");
    expect(events.find((e) => e.text === "finished")).toMatchObject({
      id: `${path}#thing7:thing7-one more#8`,
      ref: { path, row: "thing7-one more" },
    });
  });

  it("a deleted object stays known as deleted; facts of deleted records are retracted", async () => {
    await refreshed();
    product.forget("thing3");
    product.db.exec("DELETE FROM line WHERE id = 'thing7-more49'");
    product.write("thing7", "more48", "the last one now");
    settle();
    const library = await refreshed();
    expect([results(library).thing3, ...warnings(library, ["thing3", "thing4"])]).toEqual(["answer 3", [DELETED], []]);
    expect(await search(library, ["more", "49"], 5)).toEqual([]);
    expect(results(library).thing7).toBe("the last one now");
  });
});

describe("the product is not affected", () => {
  const names = () => readdirSync(folder).sort();
  const contents = () =>
    names().map((name) => [
      name,
      readFileSync(join(folder, name)).toString("base64"),
      statSync(join(folder, name)).mtimeMs,
    ]);

  it("if it is not running: no file is left next to its database, with or without a write-ahead log", async () => {
    product.write("a", "1", "one");
    const log = join(scratch, "log");
    copyFileSync(`${path}-wal`, log);
    const main = readFileSync(path);
    product.close();
    expect(names()).toEqual(["things.db"]);
    const before = contents();
    expect(results(await refreshed())).toEqual({ a: "one" });
    expect(contents()).toEqual(before);
    // As after a crash: everything is still in the log, and the shared-memory file is gone.
    writeFileSync(path, main);
    copyFileSync(log, `${path}-wal`);
    const crashed = contents();
    expect(results(await refreshed())).toEqual({ a: "one" });
    expect(contents()).toEqual(crashed);
  });

  it("if it is writing: it never waits, and uncommitted data is not read", async () => {
    product.write("a", "1", "one");
    product.db.exec("BEGIN IMMEDIATE");
    product.write("a", "2", "two");
    expect(results(await refreshed())).toEqual({ a: "one" });
    product.db.exec("COMMIT");
    product.db.exec("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)");
    expect(results(await refreshed())).toEqual({ a: "two" });
  });

  it("and followers see at once what it writes to its log", async () => {
    product.write("a", "1", "one");
    const library = await refreshed();
    const stop = new AbortController();
    const heard: string[] = [];
    for await (const { threads } of live(library, { signal: stop.signal })) {
      heard.push(...threads);
      if (heard.length === 0 && !stop.signal.aborted) product.write("a", "2", "two");
      if (results(library).a === "two") stop.abort();
    }
    expect(heard).toContain("toy:a");
  });
});

describe("a database that cannot be read is reported, and the rest is shown", () => {
  beforeEach(() => {
    for (let n = 0; n < FEW; n += 1) product.write(`thing${n}`, "a", `answer ${n}`.repeat(20));
    const other = new ToyProduct(join(folder, "other.db"));
    other.write("other", "a", "still there");
    other.close();
  });

  it.each([
    ["is locked", () => product.db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"), "database-busy"],
    [
      "is not a database",
      () => {
        product.close();
        writeFileSync(path, "SQLite format 4, or something else altogether\n".repeat(100));
      },
      "database-unreadable",
    ],
    [
      "is truncated",
      () => {
        product.close();
        truncateSync(path, 5_000);
      },
      "database-unreadable",
    ],
    [
      "is empty",
      () => {
        product.close();
        writeFileSync(path, "");
      },
      "database-unknown",
    ],
    ["has other tables", () => product.db.exec("ALTER TABLE line RENAME COLUMN thing TO things"), "database-unknown"],
  ])("that %s", async (_what, spoil, code) => {
    spoil();
    const library = await refreshed();
    expect(problemsOf(library)).toEqual([[code, "things.db"]]);
    expect(results(library)).toEqual({ other: "still there" });
    expect(problemsOf(await refreshed())).toEqual([[code, "things.db"]]);
  });

  it("whose write-ahead log exists without it", async () => {
    copyFileSync(`${path}-wal`, join(scratch, "log"));
    product.close();
    rmSync(path);
    copyFileSync(join(scratch, "log"), `${path}-wal`);
    const library = await refreshed();
    expect(problemsOf(library)).toEqual([["log-without-database", "things.db-wal"]]);
    expect(results(library)).toEqual({ other: "still there" });
  });

  it("with some damaged pages: objects in the other pages are shown, and it is retried", async () => {
    product.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    product.close();
    const pages = readFileSync(path);
    const at = pages.indexOf("answer 50answer 50");
    const page = Math.floor(at / 4096) * 4096;
    writeFileSync(
      path,
      Buffer.concat([pages.subarray(0, page), Buffer.alloc(4096, 0xff), pages.subarray(page + 4096)]),
    );
    const library = await refreshed();
    expect(Object.keys(results(library)).length).toBeGreaterThan(FEW / 2);
    expect(new Set(library.problems.map((p) => p.code))).toEqual(new Set(["database-unreadable"]));
    writeFileSync(path, pages);
    const healed = await refreshed();
    expect([Object.keys(results(healed)).length, problemsOf(healed)]).toEqual([FEW + 1, []]);
  });

  it("that is deleted: its facts stay, marked as deleted", async () => {
    const library = await refreshed();
    product.close();
    rmSync(path);
    await library.refreshPaths([path]);
    expect(warnings(library, ["thing0", "other"])).toEqual([[DELETED], []]);
    expect(warnings(await refreshed(), ["thing0", "thing9", "other"])).toEqual([[DELETED], [DELETED], []]);
  });

  it("but not if it is locked in rollback-journal mode and unchanged", async () => {
    product.db.exec("PRAGMA journal_mode = DELETE");
    product.close();
    // Files written a moment ago would be read once more.
    utimesSync(path, 1, 1);
    expect(Object.keys(results(await refreshed())).length).toBe(FEW + 1);
    const writer = new DatabaseSync(path);
    writer.exec("BEGIN EXCLUSIVE; UPDATE line SET text = 'x', at = 9999 WHERE thing = 'thing1'");
    expect(problemsOf(await refreshed())).toEqual([]);
    writer.exec("COMMIT");
    writer.close();
  });
});
