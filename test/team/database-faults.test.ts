import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environment, Run } from "../faults/process.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { Sql } from "../support/sql.ts";
import { agentDocument, eventDocument } from "./documents.ts";
import { packed, SHIPMENT, startTeam, type TestTeam } from "./server.ts";

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

describe("a team server whose database has no room", () => {
  it("stores nothing of a shipment, can be read, and continues when there is room", async ({ skip }) => {
    const space = join(folder, "space");
    mkdirSync(space);
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=40m,mode=777", "none", space], { stdio: "ignore" });
    } catch {
      skip("no file system can be mounted here");
    }
    const sql = Sql.open(database.url("postgres"));
    try {
      mkdirSync(join(space, "table"));
      chmodSync(join(space, "table"), 0o777);
      execFileSync("chown", ["nobody", join(space, "table")]);
      await sql.all(`create tablespace small location '${join(space, "table")}'`);
      await sql.all("create database small tablespace small");
      const small = await startTeam(1, database.url("small"));
      try {
        const [ship, read] = [await small.token("ann", "ship"), await small.token("ann", "read")];
        expect((await small.ship(ship, [agentDocument(BEFORE, BEFORE, 1)])).status).toBe(200);
        const { bavail, bsize } = statfsSync(space);
        writeFileSync(join(space, "ballast"), Buffer.alloc(bavail * bsize));
        // Random text, so that it does not shrink.
        const text = () => Array.from({ length: 4_000 }, () => Math.random().toString(36).slice(2)).join(" ");
        const events = Array.from({ length: 20 }, (_, i) => eventDocument(BEFORE, BEFORE, i, 1, { text: text() }));
        expect((await small.ship(ship, events)).status).toBe(503);
        expect(small.logs.at(-1)).toMatchObject({ event: "error", message: expect.stringContaining("No space left") });
        const list = await small.json<{ items: unknown[] }>("/api/threads", read);
        expect(list.items).toHaveLength(1);
        const eventsOf = async () => {
          const path = `/api/agents/${encodeURIComponent(BEFORE)}/events?limit=100`;
          return (await small.json<{ items: unknown[] }>(path, read)).items.length;
        };
        expect(await eventsOf()).toBe(0);
        rmSync(join(space, "ballast"));
        expect((await small.ship(ship, events)).status).toBe(200);
        expect(await eventsOf()).toBe(events.length);
      } finally {
        await small.close();
      }
    } finally {
      await sql.all("drop database if exists small with (force)");
      await sql.all("drop tablespace if exists small");
      await sql.end();
      execFileSync("umount", [space]);
    }
  });
});

describe("a team server that is killed in a write", () => {
  it("has stored nothing of it, and another one stores it once", async () => {
    const home = join(folder, "server");
    const args = ["serve", "--store", database.url("postgres"), "--port", "0"];
    const server = new Run(args, environment(home, join(home, "data")));
    const address = (await server.firstLine()) ?? "";
    const sql = Sql.open(database.url("postgres"), 2);
    try {
      const [uri, documents] = [
        thread(4),
        [agentDocument(thread(4), thread(4), 1), eventDocument(thread(4), thread(4), 0, 1)],
      ];
      await sql.begin(async (held) => {
        // The server has written the records, and waits to write the events.
        await held.all("lock table retinue.logs in access exclusive mode");
        const response = fetch(new URL("/api/ingest", address), {
          method: "POST",
          body: packed(documents),
          headers: { ...SHIPMENT, Authorization: `Bearer ${ships}` },
        }).then(
          ({ status }) => status,
          () => "cut",
        );
        const waits = () => sql.all("select 1 from pg_locks where not granted and relation = 'retinue.logs'::regclass");
        await expect.poll(async () => (await waits()).length, PATIENCE).toBe(1);
        await server.kill();
        expect(await response).toBe("cut");
      });
      const ofThread = () =>
        sql.all(
          "select 1 from retinue.agents where thread = $1 union all select 1 from retinue.events where thread = $1",
          [uri],
        );
      await expect
        .poll(
          async () => (await sql.all("select 1 from pg_stat_activity where wait_event_type = 'Lock'")).length,
          PATIENCE,
        )
        .toBe(0);
      expect(await ofThread()).toHaveLength(0);
      for (const n of [0, 1]) expect((await team.ship(ships, documents, n)).status).toBe(200);
      expect(await ofThread()).toHaveLength(2);
    } finally {
      await server.kill();
      await sql.end();
    }
  });
});

describe("a team server that is stopped while its database is away", () => {
  it.each(["one host", "several hosts"])("ends: %s", async (hosts) => {
    const home = join(folder, "stopped");
    const { host } = new URL(database.url(""));
    const store = hosts === "one host" ? database.url("postgres") : `postgres://retinue@${host},${host}/postgres`;
    const server = new Run(["serve", "--store", store, "--port", "0"], environment(home, join(home, "data")));
    try {
      const address = (await server.firstLine()) ?? "";
      await database.stop("immediate");
      const get = fetch(new URL("/api/threads", address), { headers: { Authorization: `Bearer ${reads}` } });
      const cut = get.then(
        ({ status }) => status,
        () => 503,
      );
      // So that it looks for the database in a request, and for notifications.
      await expect.poll(() => server.stderr, PATIENCE).toContain('"started"');
      await server.kill("SIGTERM");
      expect(await cut).toBe(503);
      expect(server.child.exitCode).toBe(0);
      expect(server.stderr).toContain('"stopped"');
    } finally {
      await server.kill();
      await database.start();
    }
  });
});

async function setReadOnly(isReadOnly: boolean): Promise<void> {
  const sql = Sql.open(database.url("postgres"));
  await sql.all("set default_transaction_read_only = off");
  await sql.all(`alter system set default_transaction_read_only = ${isReadOnly ? "on" : "off"}`);
  await sql.all("select pg_reload_conf()");
  await sql.end();
}
