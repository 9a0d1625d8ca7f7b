import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { Packs } from "./packs.ts";
import { statementsOf } from "./statements.ts";

function open() {
  const db = new DatabaseSync(":memory:");
  db.exec(
    "CREATE TABLE pack (id INTEGER PRIMARY KEY AUTOINCREMENT, texts BLOB); CREATE TABLE chunk (pack INTEGER); CREATE TABLE root (pack INTEGER)",
  );
  return { db, packs: new Packs(statementsOf(db)) };
}
const count = (db: DatabaseSync) => Number(db.prepare("SELECT count(*) AS n FROM pack").get()?.n);

it("values that are packed together are found again, each by its position", () => {
  const { db, packs } = open();
  const list = Array.from({ length: 3_000 }, (_, n) => ({ n, text: `Grüße ${n} `.repeat(40) }));
  const packed = packs.together(list, (one) => [one, { of: one.n }]);
  expect(count(db)).toBeGreaterThan(1);
  expect(count(db)).toBeLessThan(10);
  for (const one of list)
    expect(packed.get(one)?.places.map((place) => packs.value(place))).toEqual([one, { of: one.n }]);
});

it("a single value is not packed with others", () => {
  const { db, packs } = open();
  expect(packs.together([1], () => ["text"]).size).toBe(0);
  expect(count(db)).toBe(0);
  expect(packs.value(Buffer.from('"by itself"'))).toBe("by itself");
});

it("a pack is deleted when it is empty", () => {
  const { db, packs } = open();
  const pack = packs.together([1, 2], (n) => [n]).get(1)?.pack ?? 0;
  db.exec(`INSERT INTO chunk VALUES (${pack}); INSERT INTO root VALUES (${pack})`);
  packs.sweep([pack]);
  db.exec("DELETE FROM chunk");
  packs.sweep([pack]);
  expect(count(db)).toBe(1);
  db.exec("DELETE FROM root");
  packs.sweep([pack]);
  expect(count(db)).toBe(0);
  expect(() => packs.value(Buffer.from(`@${pack}:0:1`))).toThrow();
});

it("a missing pack is damage only if a row still refers to it; otherwise another process replaced it meanwhile", () => {
  const { db, packs } = open();
  const value = () => packs.value(Buffer.from("@7:0:1"));
  expect(value).toThrow(expect.objectContaining({ kind: "outdated" }));
  db.exec("INSERT INTO root VALUES (7)");
  expect(value).toThrow(expect.objectContaining({ kind: "damaged" }));
});
