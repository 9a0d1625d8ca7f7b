/** The cache is bounded in bytes, and an append costs no more than the appended facts. */
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { allFacts } from "../../../test/support/facts.ts";
import { answer, notebook, record, thread } from "../../../test/support/observations.ts";
import { FactColumns } from "../../core/facts/fact-columns.ts";
import { byTime, type Observation } from "../../core/facts/observation.ts";
import { Chunks } from "./chunks.ts";
import { Packs } from "./packs.ts";
import type { Statements } from "./statements.ts";
import { statementsOf } from "./statements.ts";

function open() {
  const db = new DatabaseSync(":memory:");
  db.exec(
    "CREATE TABLE chunk (id INTEGER PRIMARY KEY AUTOINCREMENT, file INTEGER, facts BLOB, replaces TEXT, pack INTEGER);" +
      "CREATE TABLE file (id INTEGER PRIMARY KEY, chunks INTEGER NOT NULL);" +
      `INSERT INTO file SELECT value, 0 FROM json_each('[${Array.from({ length: 60 }, (_, i) => i).join()}]');`,
  );
  const sql = statementsOf(db);
  const counts = { unpacked: 0 };
  const counted: Statements = (text) => {
    if (text.startsWith("SELECT facts")) counts.unpacked += 1;
    return sql(text);
  };
  return { chunks: new Chunks(counted, new Packs(counted)), other: new Chunks(sql, new Packs(sql)), counts };
}

/** A number of facts of one agent, two per record. */
function facts(count: number): Observation[] {
  const book = notebook();
  for (let i = 0; i < count / 2; i += 1) {
    book.see({ by: thread("t"), at: i, keys: [`r${i}`] }, record({ text: `words ${i}` }));
    book.see({ by: thread("t"), at: i, keys: [`r${i}`] }, answer(`m${i}`, i));
  }
  return book.observations;
}

const records = (facts: ReturnType<Chunks["of"]>) => facts.folds[0]?.work(new Set()).records;
const sorted = (list: readonly Observation[]) => list.toSorted(byTime);

describe("the facts of a file that grows", () => {
  it("are unpacked once, however often a line is added", () => {
    const { chunks, counts } = open();
    const all = facts(2_000);
    chunks.cacheBytes = 1 << 20;
    chunks.add(1, { facts: FactColumns.of("book", all.slice(0, 1_000)), replaces: [] });
    expect(records(chunks.of(1, "book"))).toBe(500);
    counts.unpacked = 0;
    for (let at = 1_000; at < 2_000; at += 2) {
      chunks.add(1, { facts: FactColumns.of("book", all.slice(at, at + 2)), replaces: [] });
      expect(records(chunks.of(1, "book"))).toBe(at / 2 + 1);
    }
    // Small chunks that are merged are read once more.
    expect(counts.unpacked).toBeLessThan(50);
    expect(sorted(allFacts(chunks.of(1, "book")))).toEqual(sorted(all));
  });

  it("are correct if another process appends to the file or merges its chunks", () => {
    const { chunks, other } = open();
    const all = facts(200);
    chunks.add(1, { facts: FactColumns.of("book", all.slice(0, 100)), replaces: [] });
    expect(records(chunks.of(1, "book"))).toBe(50);
    for (let at = 100; at < 200; at += 2)
      other.add(1, { facts: FactColumns.of("book", all.slice(at, at + 2)), replaces: [] });
    chunks.dropLists();
    expect(records(chunks.of(1, "book"))).toBe(100);
  });

  it("are no longer folded once some of its rows were replaced", () => {
    const { chunks } = open();
    const all = facts(20);
    chunks.add(1, { facts: FactColumns.of("book", all), replaces: [] });
    expect(chunks.of(1, "book").folds.length).toBe(1);
    chunks.add(1, { facts: FactColumns.of("book", []), replaces: ["001"] });
    expect(chunks.of(1, "book")).toEqual({ observations: expect.any(Array), folds: [] });
    expect(chunks.of(1, "book").observations.length).toBe(19);
  });
});

it("the cache stays within its limit, however many files are read", () => {
  const { chunks } = open();
  const limit = 2 << 20;
  chunks.cacheBytes = limit;
  for (let file = 0; file < 60; file += 1) {
    chunks.add(file, { facts: FactColumns.of("book", facts(200)), replaces: [] });
    chunks.of(file, "book");
    expect(chunks.cachedBytes).toBeLessThan(limit);
  }
  expect(chunks.cachedBytes).toBeGreaterThan(limit / 2);
});
