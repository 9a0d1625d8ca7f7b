import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTeamStore } from "../../src/app/team/store.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { parseShipment } from "../../src/server/team/shipment.ts";
import { type Database, openDatabase } from "../../src/stores/postgres/database.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { MIGRATIONS } from "../../src/stores/postgres/schema.ts";
import { agentDocument, eventDocument } from "./documents.ts";
import { packed, SHIPMENT, startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://aaaaaaaa-0000-4000-8000-00000000000${n}`;
const LATEST = MIGRATIONS.at(-1)?.version ?? 0;
let team: TestTeam;
let database: Database;
let [ships, reads] = ["", ""];
beforeAll(async () => {
  team = await startTeam();
  database = await openDatabase(team.database, { connections: 2 });
  ships = await team.token("ann", "ship");
  reads = await team.token("ann", "read");
});
afterAll(async () => {
  await database.close();
  await team.close();
});

const shipped = async (n: number) => (await team.ship(ships, [agentDocument(thread(n), thread(n), 1)])).status;
const seen = async (n: number) => (await team.get(`/api/agents/${encodeURIComponent(thread(n))}`, reads)).status;

describe("an older sender", () => {
  const folder = join(import.meta.dirname, "../../fixtures/shipments");

  it.each(readdirSync(folder))("is understood: %s", async (name) => {
    const body = readFileSync(join(folder, name));
    const { head, documents } = await parseShipment(body, false);
    expect(documents.length).toBeGreaterThan(50);
    const receipt = await team.get("/api/ingest", ships, 0, {
      method: "POST",
      body,
      headers: { "Content-Type": "application/x-ndjson" },
    });
    expect(await receipt.json()).toMatchObject({ accepted: documents.length, ignored: 0 });
    const [root] = documents.filter((one) => one.is === "agent" && one.parent === null);
    const tree = await team.json<AgentTree>(`/api/agents/${encodeURIComponent(root?.thread ?? "")}`, reads);
    expect(tree.counts.descendants).toBe(documents.filter(({ is }) => is === "agent").length - 1);
    const { items } = await team.json<{ items: { machines: object[] }[] }>("/api/team/people", reads);
    expect(items[0]?.machines).toContainEqual(expect.objectContaining({ version: head.version }));
  });
});

describe("a newer sender", () => {
  it("may send fields that this server does not know: they are kept", async () => {
    const document = agentDocument(thread(1), thread(1), 1, { mood: "curious" } as object);
    const event = eventDocument(thread(1), thread(1), 0, 1, { weather: { sky: "grey" } } as object);
    const body = packed([
      { ...document, added: true },
      { ...event, added: [1] },
    ]);
    expect((await team.get("/api/ingest", ships, 0, { method: "POST", body, headers: SHIPMENT })).status).toBe(200);
    expect(await team.json(`/api/agents/${encodeURIComponent(thread(1))}`, reads)).toMatchObject({ mood: "curious" });
    expect(await team.json(`/api/agents/${encodeURIComponent(thread(1))}/events`, reads)).toMatchObject({
      items: [{ weather: { sky: "grey" } }],
    });
  });
});

describe("an older server", () => {
  it("keeps working on a newer schema that allows it, and new ones of its version start on it", async () => {
    const added = {
      version: LATEST + 1,
      compatibleFrom: LATEST,
      script: `alter table retinue.threads add column starred boolean not null default false;
        create table retinue.notes (owner text not null, thread text not null, note text not null, primary key (owner, thread))`,
    };
    expect(await shipped(2)).toBe(200);
    expect(await migrate(database, [...MIGRATIONS, added])).toEqual({ from: LATEST, to: LATEST + 1 });
    expect([await shipped(3), await seen(2), await seen(3)]).toEqual([200, 200, 200]);
    const another = await openTeamStore(team.database, { connections: 1 });
    expect(another.migrated).toEqual({ from: LATEST + 1, to: LATEST + 1 });
    await another.close();
    // A server of the newer version finds nothing to do.
    expect(await migrate(database, [...MIGRATIONS, added])).toEqual({ from: LATEST + 1, to: LATEST + 1 });
  });

  it("does not start on a schema that needs a newer one", async () => {
    const breaking = { version: LATEST + 2, compatibleFrom: LATEST + 2, script: "drop table retinue.notes" };
    const added = { version: LATEST + 1, compatibleFrom: LATEST, script: "" };
    expect(await migrate(database, [...MIGRATIONS, added, breaking])).toMatchObject({ to: LATEST + 2 });
    await expect(openTeamStore(team.database, { connections: 1 })).rejects.toThrow(
      `needs a retinue that knows schema ${LATEST + 2}`,
    );
  });
});

it("a database of a schema that was never released is refused", async () => {
  const released = MIGRATIONS.map((migration) => ({ ...migration, version: migration.version + 10 }));
  await expect(migrate(database, released)).rejects.toThrow("which was never released");
});

it("a failed migration leaves the schema as it was", async () => {
  const broken = {
    version: LATEST + 3,
    compatibleFrom: LATEST,
    script: "create table retinue.half (a integer); nonsense",
  };
  await expect(migrate(database, [...MIGRATIONS, broken])).rejects.toThrow();
  expect(await database.all("select to_regclass('retinue.half') as found")).toEqual([{ found: null }]);
});

it("metrics have lag, requests, and the latency and errors of the database", async () => {
  const admin = await team.token("root", "admin");
  const text = await (await team.get("/metrics", admin)).text();
  const value = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  // The event of the newer sender is of June 2026.
  expect(value("retinue_ingest_lag_seconds")).toBeGreaterThan(86_400);
  expect(value("retinue_database_statements_total")).toBeGreaterThan(10);
  expect(value("retinue_database_seconds_total")).toBeGreaterThan(0);
  expect(value("retinue_database_errors_total")).toBe(0);
  expect(value("retinue_primary_up")).toBe(1);
  expect(text).toMatch(/^retinue_requests_total\{route="\/api\/ingest",status="200"\} [1-9]/m);
  expect(text).toMatch(/^# TYPE retinue_requests_total counter$/m);
});
