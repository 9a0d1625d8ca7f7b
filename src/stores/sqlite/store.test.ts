import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, it } from "vitest";
import { storeContract } from "../../../test/contract/store.ts";
import { A, B, batch, recordIn, state } from "../../../test/contract/store-toys.ts";
import { FactColumns } from "../../core/facts/fact-columns.ts";
import { NewerFile } from "./migrate.ts";
import { openSqliteStore } from "./store.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-store-"));
afterAll(() => rmSync(scratch, { recursive: true }));
let made = 0;
const nextPath = () => {
  made += 1;
  return join(scratch, `${made}.sqlite`);
};

storeContract("sqlite", () => openSqliteStore(nextPath(), "reader"));

describe("the index file", () => {
  it("finds the request of a call without a scan", async () => {
    const path = nextPath();
    (await openSqliteStore(path, "reader")).close();
    const db = new DatabaseSync(path);
    const plan = db
      .prepare(
        "EXPLAIN QUERY PLAN SELECT e.row FROM exchange e JOIN invocation i ON i.exchange = e.id WHERE i.call = ?",
      )
      .all("c");
    db.close();
    expect(plan.map(({ detail }) => String(detail)).filter((step) => !step.startsWith("SEARCH"))).toEqual([]);
    expect(plan.map(({ detail }) => String(detail)).join()).toMatch(/SEARCH i USING PRIMARY KEY \(call=\?\)/);
  });

  it("stores nothing of a transaction that fails halfway", async () => {
    const store = await openSqliteStore(nextPath(), "reader");
    const file = {
      within: null,
      root: "/r",
      provider: "toy",
      identity: "1",
      size: 1,
      modifiedMs: 1,
      offset: 1,
      lines: 1,
      generation: 0,
      tail: "",
      parser: null,
      gone: false,
    };
    const good = {
      before: null,
      after: { ...file, path: "/r/good" },
      facts: new FactColumns("/r/good"),
      problems: [],
      texts: [],
    };
    const bad = { ...good, after: { ...file, path: null as unknown as string } };
    expect(() => store.commit([good, bad])).toThrow();
    expect(store.fileCount()).toBe(0);
    expect(store.commit([good])).toEqual([true]);
    store.close();
  });

  it("reports threads changed by other connections, once", async () => {
    const path = nextPath();
    const [store, other] = [await openSqliteStore(path, "reader"), await openSqliteStore(path, "reader")];
    expect(store.changedByOthers()).toEqual([]);
    other.commit([batch(state("/root/a"), [recordIn(A, "/root/a:1", "r1")])]);
    expect([store.changedByOthers(), store.changedByOthers()]).toEqual([[A], []]);
    store.commit([batch(state("/root/b"), [recordIn(B, "/root/b:1", "r2")])]);
    expect(store.changedByOthers()).toEqual([]);
    other.setNote("x", "y");
    // Its own threads are reported once more then: better twice than never.
    expect(store.changedByOthers()).toEqual([B]);
    store.close();
    other.close();
  });

  it("is kept over a restart, and discarded when another version of a reader is used", async () => {
    const path = nextPath();
    const open = async (reader: string) => {
      const store = await openSqliteStore(path, reader);
      const known = store.note("x");
      store.setNote("x", "kept");
      store.close();
      return known;
    };
    expect([await open("1"), await open("1"), await open("2")]).toEqual([null, "kept", null]);
  });

  it("is not changed if it is newer, and not opened if it is another kind of file", async () => {
    const path = nextPath();
    (await openSqliteStore(path, "reader")).close();
    const db = new DatabaseSync(path);
    db.exec("PRAGMA user_version = 99");
    db.close();
    await expect(openSqliteStore(path, "reader")).rejects.toThrow(NewerFile);
    const junk = nextPath();
    writeFileSync(junk, "this is not a database, but a letter to one".repeat(99));
    await expect(openSqliteStore(junk, "reader")).rejects.toThrow(/not a database/);
  });
});
