import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { limited } from "./database.ts";

it("makes each record of a product's database once, and returns its bytes", () => {
  const db = new DatabaseSync(":memory:");
  let made = 0;
  db.function("made", (text) => {
    made += 1;
    return `record ${text}`;
  });
  db.exec("CREATE TABLE messages (name); INSERT INTO messages VALUES ('a'), ('b')");
  const all = `SELECT name AS "row", rowid AS position, made(name) AS record FROM messages`;
  const rows = db.prepare(limited(all)).all();
  expect(rows.map(({ record }) => new TextDecoder().decode(record as Uint8Array))).toEqual(["record a", "record b"]);
  expect(made).toBe(2);
  db.close();
});
