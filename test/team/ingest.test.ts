import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import type { SpentRow } from "../../src/core/views/stats.ts";
import { ChangingSums, type PackedLine, type PackedSums } from "../../src/core/views/stats-sums.ts";
import { type Database, openDatabase } from "../../src/stores/postgres/database.ts";
import { type Ingest, ingester } from "../../src/stores/postgres/ingest.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { dropEventsBefore, partitions } from "../../src/stores/postgres/partitions.ts";
import { OWNED_TABLES } from "../../src/stores/postgres/schema.ts";
import { monthOfDay } from "../../src/stores/postgres/values.ts";
import { freshDatabase } from "../support/postgres.ts";
import { agentDocument, eventDocument, HEAD, spentRow } from "./documents.ts";

let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let database: Database;
let ingest: Ingest;
const NOW = Date.parse("2026-06-15T12:00:00Z");
beforeAll(async () => {
  fresh = await freshDatabase();
  database = await openDatabase(fresh.url);
  await migrate(database);
  ingest = ingester(database, () => NOW);
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});

const T = "toy://t1";
const A = "toy://t1/a";

/** Everything stored about an owner that does not depend on the shipments it came with. */
async function stateOf(owner: string) {
  const rows = (query: string) => database.all(query, [owner]);
  return {
    threads: await rows(
      "select thread, present, active_at, status from retinue.threads where owner = $1 and present order by 1",
    ),
    agents: await rows(
      "select thread, uri, revision, record from retinue.agents where owner = $1 and present order by 1, 2",
    ),
    events: await rows(
      "select thread, agent, position, id, event from retinue.events where owner = $1 order by 1, 2, 3",
    ),
    lists: await rows("select thread, agent, what, at, items from retinue.lists where owner = $1 order by 1, 2, 3, 4"),
    details: await rows("select thread, agent, what, value from retinue.details where owner = $1 order by 1, 2, 3"),
    spent: await rows("select thread, agent, n, day, cost_usd from retinue.spent where owner = $1 order by 1, 2, 3"),
  };
}

describe("a shipment", () => {
  it("is stored once, however often it is sent", async () => {
    const documents: ShipmentDocument[] = [
      agentDocument(T, T, 1),
      agentDocument(T, A, 1),
      eventDocument(T, A, 0, 1),
      eventDocument(T, A, 1, 1),
      { is: "spans", thread: T, agent: A, at: 0, revision: 1, items: [] },
      { is: "detail", thread: T, agent: A, what: "spent", revision: 1, value: [spentRow(T, 0.5)] },
    ];
    expect(await ingest("once", HEAD, documents)).toMatchObject({ accepted: 6, ignored: 0, shipments: 1 });
    const before = await stateOf("once");
    expect(before.events).toHaveLength(2);
    expect(await ingest("once", HEAD, documents)).toMatchObject({ accepted: 0, ignored: 6, shipments: 2 });
    expect(await stateOf("once")).toEqual(before);
  });

  it("of one owner never touches another one", async () => {
    await ingest("first", HEAD, [agentDocument(T, T, 1), eventDocument(T, T, 0, 1)]);
    const before = await stateOf("first");
    await ingest("second", HEAD, [{ is: "removed", thread: T, uri: T, revision: 9 }]);
    await ingest("second", HEAD, [agentDocument(T, T, 20)]);
    expect(await stateOf("first")).toEqual(before);
    expect((await stateOf("second")).events).toEqual([]);
  });

  it("stores texts that PostgreSQL cannot store as text or jsonb, unchanged", async () => {
    const text = "a\0b \ud800 \\u0000 ' \" \\ { } , null";
    const document = eventDocument(T, T, 0, 1, { text, id: "e\0" });
    await ingest("odd", HEAD, [agentDocument(T, T, 1, { cwd: "/x\0y", project: "x\0y" }), document]);
    const { events, agents } = await stateOf("odd");
    expect(JSON.parse((events[0] as { event: string }).event)).toEqual(document.event);
    expect((JSON.parse((agents[0] as { record: string }).record) as { cwd: string }).cwd).toBe("/x\0y");
  });

  it("finds its month, whichever of several servers creates it", async () => {
    const servers = Array.from({ length: 6 }, () => ingester(database, () => NOW));
    const receipts = await Promise.all(
      servers.map((one, n) => one(`maker${n}`, HEAD, [eventDocument(T, T, 0, 1, { at: "2026-03-03T00:00:00.000Z" })])),
    );
    expect(receipts.map(({ accepted }) => accepted)).toEqual(servers.map(() => 1));
    expect((await partitions(database)).filter((name) => name === "events_2026_03")).toHaveLength(1);
  });

  it("makes no partition for events of a wrong clock, and drops whole months", async () => {
    const at = (time: string | null, n: number) => eventDocument(T, T, n, 1, { at: time });
    await ingest("clock", HEAD, [
      at("1971-01-01T00:00:00.000Z", 0),
      at("2199-01-01T00:00:00.000Z", 1),
      at(null, 2),
      at("2025-11-30T23:59:59.999Z", 3),
      at("2025-12-01T00:00:00.000Z", 4),
    ]);
    const months = (await partitions(database)).filter((name) => name.startsWith("events_2"));
    expect(months).toEqual(expect.arrayContaining(["events_2025_11", "events_2025_12"]));
    expect(months.every((name) => /^events_202[56]/.test(name))).toBe(true);
    expect(await dropEventsBefore(database, "2025-12-15")).toEqual(["events_2025_11"]);
    expect((await stateOf("clock")).events).toHaveLength(4);
    // A month that was dropped does not come back if a machine sends its events again, here or through another server.
    for (const again of [ingest, ingester(database, () => NOW)])
      expect(
        await again("clock", HEAD, [at("2025-11-30T23:59:59.999Z", 3), at("2025-12-02T00:00:00.000Z", 5)]),
      ).toMatchObject({
        accepted: again === ingest ? 1 : 0,
        ignored: again === ingest ? 1 : 2,
      });
    expect((await stateOf("clock")).events).toHaveLength(5);
    expect(await partitions(database)).not.toContain("events_2025_11");
  });
});

describe("a thread that is removed", () => {
  const [name, folder] = ["secretproject", "/home/dev/secretproject"];
  const hidden = { project: name, cwd: folder, type: name, title: name };
  const documents = (thread: string, revision: number): ShipmentDocument[] => [
    agentDocument(thread, thread, revision, hidden),
    agentDocument(thread, `${thread}/a`, revision, hidden),
    eventDocument(thread, thread, 0, revision, { text: name }),
    {
      is: "detail",
      thread,
      agent: thread,
      what: "spent",
      revision,
      value: [spentRow(thread, 1, { project: name, type: name })],
    },
  ];
  /** Rows of any table that contain this text. */
  const found = async (owner: string, text: string) => {
    const rows = OWNED_TABLES.map((table) =>
      database.all<{ row: string }>(
        `select t::text as row from retinue.${table} t where owner = $1 and t::text like '%' || $2 || '%'`,
        [owner, text],
      ),
    );
    return (await Promise.all(rows)).flat();
  };
  const left = async (owner: string) => [
    ...(await found(owner, name)),
    ...(await found(owner, "2026-06-01")).filter(({ row }) => !row.startsWith(`(${owner},`) || row.includes("toy://")),
  ];

  it("leaves its URIs and revisions, and nothing else", async () => {
    await ingest("gone", HEAD, [...documents(T, 1), ...documents("toy://t2", 1)]);
    expect((await left("gone")).length).toBeGreaterThan(5);
    const [one] = [{ is: "removed", thread: T, uri: A, revision: 2 }] as const;
    await ingest("gone", HEAD, [one]);
    await ingest("gone", HEAD, [
      { is: "removed", thread: T, uri: T, revision: 3 },
      { is: "removed", thread: "toy://t2", uri: "toy://t2", revision: 3 },
    ]);
    expect(await left("gone")).toEqual([]);
    // Older documents stay void, newer ones are stored.
    expect(await ingest("gone", HEAD, documents(T, 2))).toMatchObject({ accepted: 0 });
    expect(await ingest("gone", HEAD, documents(T, 4))).toMatchObject({ accepted: 4 });
  });

  it("leaves nothing of a copy that another machine replaces", async () => {
    await ingest("copied", HEAD, documents(T, 9));
    const other = { ...HEAD, machine: "m2" };
    const later = { lastActivityAt: "2026-06-02T00:00:00.000Z" };
    await ingest("copied", other, [{ is: "removed", thread: T, uri: T, revision: 1 }, agentDocument(T, T, 2, later)]);
    expect(await found("copied", name)).toEqual([]);
    expect((await stateOf("copied")).agents).toHaveLength(1);
  });
});

/** On one or two days, in one or two months, with several models. */
const spentRows = (thread: string, revision: number): SpentRow[] =>
  ["2026-05-31", null, "2026-06-01", "2026-06-02"]
    .slice(revision % 3, (revision % 3) + 1 + (revision % 2))
    .map((day, i) =>
      spentRow(thread, revision / 8, {
        day,
        agents: i === 0 ? 1 : 0,
        model: `m-${revision % 4}`,
        status: revision % 5 === 0 ? "errored" : "completed",
        durationMs: i === 0 ? revision * 1_000 : 0,
      }),
    );

type Sums = Readonly<Record<string, unknown>>;

/** In one order. */
function inOrder(sums: PackedSums | null): Sums {
  const line = ([numbers, statuses, buckets]: PackedLine) => {
    const pairs = buckets.flatMap((bucket, i) => (i % 2 === 0 ? [[bucket, buckets[i + 1] ?? 0]] : []));
    return [numbers, statuses, pairs.sort(([a = 0], [b = 0]) => a - b)];
  };
  const groups = Object.entries(sums?.by ?? {}).map(([group, lines]) => [
    group,
    Object.fromEntries(lines.map(([key, packed]) => [String(key), line(packed)])),
  ]);
  return sums === null ? {} : { total: line(sums.total), by: Object.fromEntries(groups) };
}

/** The stored sums of each month, and those of the stored rows. */
async function monthsOf(owner: string): Promise<{ readonly stored: Sums; readonly right: Sums }> {
  const months = await database.all<{ month: string; sums: string }>(
    "select month::text as month, sums from retinue.months where owner = $1",
    [owner],
  );
  const rows = await database.all<{ thread: string; row: string }>(
    "select thread, row from retinue.spent where owner = $1",
    [owner],
  );
  const spent = rows.map(({ row }) => JSON.parse(row) as SpentRow);
  const right = [...Map.groupBy(spent, ({ day }) => monthOfDay(day))].map(([month, some]) => {
    const sums = new ChangingSums(null);
    for (const list of Map.groupBy(some, ({ thread }) => thread).values()) sums.change(list, 1);
    return [month, inOrder(sums.packed)] as const;
  });
  const [counted] = await database.all<{ rows: number }>(
    "select spent_rows as rows from retinue.owners where owner = $1",
    [owner],
  );
  return {
    stored: {
      ...Object.fromEntries(months.map(({ month, sums }) => [month, inOrder(JSON.parse(sums) as PackedSums)])),
      rows: counted?.rows,
    },
    right: { ...Object.fromEntries(right), rows: rows.length },
  };
}

const THREADS = ["toy://t1", "toy://t2"];
const AGENTS = ["", "/a"];
const document: fc.Arbitrary<ShipmentDocument> = fc
  .record({
    is: fc.constantFrom("agent", "event", "event", "event", "removed", "events-from", "spans", "detail", "spent"),
    thread: fc.constantFrom(...THREADS),
    agent: fc.constantFrom(...AGENTS),
    at: fc.nat({ max: 3 }),
    revision: fc.integer({ min: 1, max: 30 }),
  })
  .map(({ is, thread, agent, at, revision: given }): ShipmentDocument => {
    const uri = `${thread}${agent}`;
    // Two documents about the same thing with one revision are equal, except that a removal has one of its own.
    const revision = given * 10 + (is === "removed" ? 1 : is === "events-from" ? 2 : 3);
    switch (is) {
      case "agent":
        return agentDocument(thread, uri, revision);
      case "event":
        return eventDocument(thread, uri, at, revision, { id: `${at}-${revision}` });
      case "removed":
        return { is, thread, uri, revision };
      case "events-from":
        return { is, thread, agent: uri, at, revision };
      case "spans":
        return { is, thread, agent: uri, at: at * 128, revision, items: [] };
      case "spent":
        return { is: "detail", thread, agent: uri, what: "spent", revision, value: spentRows(thread, revision) };
      default:
        return { is: "detail", thread, agent: uri, what: "messages", revision, value: [] };
    }
  });

describe("shipments", () => {
  let owners = 0;

  it("lead to the same state in any order, any division and with any repeats", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(document, { minLength: 1, maxLength: 30 }).chain((documents) =>
          fc.record({
            documents: fc.constant(documents),
            other: fc
              .shuffledSubarray(documents, { minLength: documents.length })
              .chain((shuffled) =>
                fc.array(fc.constantFrom(...documents), { maxLength: 10 }).map((more) => [...shuffled, ...more]),
              ),
            size: fc.integer({ min: 1, max: 12 }),
          }),
        ),
        async ({ documents, other, size }) => {
          owners += 1;
          const [one, two] = [`one${owners}`, `two${owners}`];
          await ingest(one, HEAD, documents);
          for (let from = 0; from < other.length; from += size) await ingest(two, HEAD, other.slice(from, from + size));
          expect(await stateOf(two)).toEqual(await stateOf(one));
          for (const owner of [one, two]) {
            const { stored, right } = await monthsOf(owner);
            expect(stored).toEqual(right);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
