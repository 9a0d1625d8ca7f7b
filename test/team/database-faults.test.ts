import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { agentDocument } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://aaaaaaaa-0000-4000-8000-00000000000${n}`;
const [BEFORE, WHILE, AFTER] = [thread(1), thread(2), thread(3)];
const PATIENCE = { timeout: 60_000, interval: 100 };

let folder: string;
let database: PostgresServer;
let team: TestTeam;
let [ships, reads] = ["", ""];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "retinue-postgres-"));
  database = await startPostgres(folder);
  team = await startTeam(2, database.url("postgres"));
  ships = await team.token("ann", "ship");
  reads = await team.token("ann", "read");
  expect((await team.ship(ships, [agentDocument(BEFORE, BEFORE, 1)])).status).toBe(200);
});
afterAll(async () => {
  await team.close();
  await database.stop();
  rmSync(folder, { recursive: true });
});

const REFUSED = { error: { code: "unavailable", message: "the database cannot be used at the moment" } };
const shipped = async (uri: string, server: number) =>
  (await team.ship(ships, [agentDocument(uri, uri, 1)], server)).status;

describe("a team server whose database is away", () => {
  it("refuses requests without naming the database, then continues, and live streams catch up", async () => {
    const ended = new AbortController();
    const live = await team.get("/api/live?threads=true", reads, 0, { signal: ended.signal });
    let received = "";
    const reading = live.body?.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write: (text) => {
          received += text;
        },
      }),
    );
    await database.stop();
    for (const path of ["/api/threads", "/api/health"]) {
      const response = await team.get(path, reads);
      expect([path, response.status]).toEqual([path, 503]);
      expect(await response.json()).toMatchObject(REFUSED);
    }
    expect(team.logs.some(({ event }) => event === "error")).toBe(true);
    await database.start();
    await expect.poll(() => shipped(WHILE, 1), PATIENCE).toBe(200);
    await expect.poll(() => received, PATIENCE).toContain(WHILE);
    expect((await team.get("/api/health", null)).status).toBe(200);
    ended.abort();
    await reading?.catch(() => {});
  });

  it("can be read while the database is read-only, and accepts shipments again afterwards", async () => {
    await setReadOnly(true);
    await expect.poll(() => shipped(AFTER, 0), PATIENCE).toBe(503);
    const { items } = await team.json<{ items: { uri: string }[] }>("/api/threads", reads);
    expect(items.map(({ uri }) => uri).toSorted()).toEqual([BEFORE, WHILE]);
    await setReadOnly(false);
    await expect.poll(() => shipped(AFTER, 0), PATIENCE).toBe(200);
  });
});

async function setReadOnly(isReadOnly: boolean): Promise<void> {
  const sql = postgres(database.url("postgres"), { max: 1, onnotice: () => {} });
  await sql.unsafe("set default_transaction_read_only = off");
  await sql.unsafe(`alter system set default_transaction_read_only = ${isReadOnly ? "on" : "off"}`);
  await sql.unsafe("select pg_reload_conf()");
  await sql.end();
}
