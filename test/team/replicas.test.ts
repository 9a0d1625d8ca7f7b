import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatPosition } from "../../src/server/team/position.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { Sql } from "../support/sql.ts";
import { agentDocument, eventDocument } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://aaaaaaaa-0000-4000-8000-00000000000${n}`;
const PATIENCE = { timeout: 60_000, interval: 50 };

let folder: string;
let primary: PostgresServer;
let replica: PostgresServer;
let onReplica: Sql;
let team: TestTeam;
let [ships, reads, admin] = ["", "", ""];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "retinue-postgres-"));
  primary = await startPostgres(folder);
  replica = await primary.replica(join(folder, "replica"));
  onReplica = Sql.open(replica.url("postgres"));
  const hosts = [primary, replica].map((one) => new URL(one.url("")).host);
  team = await startTeam(1, `postgres://retinue@${hosts.join(",")}/postgres`, {
    replicas: [replica.url("postgres")],
  });
  ships = await team.token("ann", "ship");
  reads = await team.token("ann", "read");
  admin = await team.token("root", "admin");
});
afterAll(async () => {
  await team.close();
  await onReplica.end();
  await replica.stop();
  rmSync(folder, { recursive: true });
});

const ship = async (n: number) =>
  (await team.ship(ships, [agentDocument(thread(n), thread(n), 1), eventDocument(thread(n), thread(n), 0, 1)])).status;
const threads = async () =>
  (await team.json<{ items: { uri: string }[] }>("/api/threads", reads)).items.map(({ uri }) => uri).sort();
const counts = async () => {
  const text = await (await team.get("/metrics", admin)).text();
  const of = (from: string) => Number(new RegExp(`^retinue_reads_${from}_total (\\d+)$`, "m").exec(text)?.[1]);
  return { primary: of("primary"), replica: of("replica") };
};
/** Who answered the statements of a request: both if not all by the same. */
const answeredBy = async (work: () => Promise<unknown>) => {
  const before = await counts();
  await work();
  const after = await counts();
  const byReplica = after.replica > before.replica;
  return after.primary > before.primary ? (byReplica ? "both" : "primary") : byReplica ? "replica" : "nobody";
};

describe("a team server with a replica", () => {
  it("reads from the replica what the replica has", async () => {
    expect(await ship(1)).toBe(200);
    await expect.poll(() => answeredBy(threads), PATIENCE).toBe("replica");
    expect(await threads()).toEqual([thread(1)]);
  });

  it("reads from the primary what the replica does not have yet", async () => {
    await onReplica.all("select pg_wal_replay_pause()");
    const ended = new AbortController();
    const live = await team.get("/api/live?threads=true", reads, 0, { signal: ended.signal });
    const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect(await ship(2)).toBe(200);
    // A client knows the shipment from the stream, so no answer may be older.
    let received = "";
    while (!received.includes(thread(2))) received += (await reader?.read())?.value ?? "";
    ended.abort();
    expect(await answeredBy(threads)).toBe("primary");
    expect(await threads()).toEqual([thread(1), thread(2)]);
    expect(await team.json(`/api/agents/${encodeURIComponent(thread(2))}/events`, reads)).toMatchObject({ total: 1 });
    await onReplica.all("select pg_wal_replay_resume()");
    await expect.poll(() => answeredBy(threads), PATIENCE).toBe("replica");
  });

  it("accepts a position that only the primary has", async () => {
    const before = (await team.get("/api/threads", reads)).headers.get("retinue-live") ?? "";
    await onReplica.all("select pg_wal_replay_pause()");
    expect(await ship(3)).toBe(200);
    // As a client that comes from another server.
    const [, seq = "0"] = /-(\d+)$/.exec(before) ?? [];
    const position = formatPosition(new Map([["ann", Number(seq) + 1]]));
    const ended = new AbortController();
    const live = await team.get(`/api/live?threads=true&after=${position}`, reads, 0, { signal: ended.signal });
    const first = await live.body?.pipeThrough(new TextDecoderStream()).getReader().read();
    expect(first?.value).toContain("event: ready");
    ended.abort();
    await onReplica.all("select pg_wal_replay_resume()");
  });

  it("does without the replica while that is away", async () => {
    await replica.stop("immediate");
    expect(await threads()).toEqual([1, 2, 3].map(thread));
    await replica.start();
    await expect.poll(() => answeredBy(threads), PATIENCE).toBe("replica");
  });

  it("can be read while the primary is away, and says so", async () => {
    await primary.stop("immediate");
    expect(await threads()).toEqual([1, 2, 3].map(thread));
    expect(await ship(4)).toBe(503);
    expect(await team.json("/api/health", reads)).toMatchObject({
      status: "ok",
      troubles: [{ code: "primary-away" }],
    });
    expect((await team.get("/api/threads", "rtn_wrong")).status).toBe(401);
  });

  it("continues on the replica when that is promoted", async () => {
    await onReplica.all("select pg_promote()");
    await expect.poll(() => ship(4), PATIENCE).toBe(200);
    await expect.poll(threads, PATIENCE).toEqual([1, 2, 3, 4].map(thread));
    expect(await team.json("/api/health", reads)).toMatchObject({ troubles: [] });
  });
});
