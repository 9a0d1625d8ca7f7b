/** Searches in the texts of many people: the work for a common word does not grow with their number. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, openDatabase, type Queries } from "../../src/stores/postgres/database.ts";
import { ingester } from "../../src/stores/postgres/ingest.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { Reader } from "../../src/stores/postgres/reader.ts";
import { freshDatabase } from "../support/postgres.ts";
import { agentDocument, eventDocument, HEAD } from "./documents.ts";

const OWNERS = Array.from({ length: 300 }, (_, i) => `dev${i}`);
const EVENTS = 90;
const T = "toy://t1";
const DAY_MS = 86_400_000;
const now = Date.now();
let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let database: Database;
beforeAll(async () => {
  fresh = await freshDatabase();
  database = await openDatabase(fresh.url);
  await migrate(database);
  const ingest = ingester(database);
  // The first was active last. Older texts come first, as they do in a history.
  for (const [i, owner] of OWNERS.entries()) {
    const at = (days: number) => new Date(now - days * DAY_MS - i * 60_000).toISOString();
    await ingest(owner, HEAD, [
      agentDocument(T, T, 1, { lastActivityAt: at(0) }),
      ...Array.from({ length: EVENTS }, (_, e) =>
        eventDocument(T, T, e, 1, {
          at: at(e < EVENTS - 3 ? 200 : 0),
          text: `compile ${e === 0 && i === OWNERS.length - 1 ? "zanzibar" : `file ${e}`}`,
        }),
      ),
    ]);
  }
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});

function counted(): { readonly reader: Reader; readonly work: { statements: number; rows: number } } {
  const work = { statements: 0, rows: 0 };
  const queries: Queries = {
    all: async <Row extends object>(statement: string, parameters = []) => {
      work.statements += 1;
      const rows = await database.all<Row>(statement, parameters);
      work.rows += rows.length;
      return rows;
    },
  };
  return { reader: new Reader(queries), work };
}

describe("a search", () => {
  it("for a common word asks the owners who were active last, and looks at their newest texts first", async () => {
    const { reader, work } = counted();
    const found = await reader.search(OWNERS, ["compile"], 50);
    expect(found).toHaveLength(50);
    const names = new Set(OWNERS.slice(0, 64));
    expect(found.filter(({ owner }) => !names.has(owner))).toEqual([]);
    // The order of activity, 64 owners, and the texts of those that are shown.
    expect(work.statements).toBeLessThanOrEqual(1 + 64 + 50);
    expect(work.rows).toBeLessThanOrEqual(OWNERS.length + 64 * 50 + 50);
    // Each of the owners has three of these.
    expect(found.filter(({ event }) => Date.parse(event.at ?? "") < now - 100 * DAY_MS)).toEqual([]);
  });

  it("for a rare word finds it wherever it is", async () => {
    const { reader, work } = counted();
    const found = await reader.search(OWNERS, ["zanzi"], 50);
    expect(found.map(({ owner, event }) => [owner, event.id])).toEqual([["dev299", "e0"]]);
    expect(work.statements).toBe(1 + OWNERS.length + 1);
  });
});
