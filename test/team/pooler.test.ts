import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openTeamStore } from "../../src/app/team/store.ts";
import { openDatabase } from "../../src/stores/postgres/database.ts";
import { freshDatabase } from "../support/postgres.ts";
import { agentDocument } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const THREAD = "claude://dddddddd-0000-4000-8000-000000000001";

let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let team: TestTeam;
beforeAll(async () => {
  fresh = await freshDatabase();
  team = await startTeam(1, `${fresh.url}?pgbouncer=transaction`);
});
afterAll(async () => {
  await team.close();
  await fresh.drop();
});

it("a database behind a pooler in transaction mode is used without prepared statements and notifications", async () => {
  const [ships, reads] = [await team.token("ann", "ship"), await team.token("ann", "read")];
  const database = await openDatabase(team.database);
  try {
    await database.all("select 1 as one where $1::text is not null", ["x"]);
    expect(await database.all("select name from pg_prepared_statements")).toEqual([]);
    expect(await database.all("select current_setting('statement_timeout') as limit")).toEqual([{ limit: "0" }]);
  } finally {
    await database.close();
  }
  const ended = new AbortController();
  const live = await team.get("/api/live?threads=true", reads, 0, { signal: ended.signal });
  const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader();
  expect((await team.ship(ships, [agentDocument(THREAD, THREAD, 1)])).status).toBe(200);
  let received = "";
  while (!received.includes(THREAD)) received += (await reader?.read())?.value ?? "";
  ended.abort();
});

/** Refuses parameters of a session as pgbouncer does. */
async function strictPooler(port: number) {
  const server = createServer((client) => {
    client.on("error", () => {});
    client.once("data", (startup) => {
      if (startup.includes("statement_timeout")) return client.end(REFUSAL);
      const upstream = connect(port, "127.0.0.1");
      upstream.on("error", () => client.destroy());
      client.on("close", () => upstream.destroy());
      upstream.write(startup);
      client.pipe(upstream).pipe(client);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => server.close() };
}
const FIELDS = Buffer.from("SFATAL\0C08P01\0Munsupported startup parameter: statement_timeout\0\0");
const REFUSAL = Buffer.concat([Buffer.from("E"), Buffer.alloc(4), FIELDS]);
REFUSAL.writeInt32BE(FIELDS.length + 4, 1);

it("parameters of a session are set afterwards behind a pooler in session mode, which refuses them otherwise", async () => {
  const pooler = await strictPooler(Number(new URL(fresh.url).port));
  const url = new URL(fresh.url);
  url.port = String(pooler.port);
  await expect(openTeamStore(url.href)).rejects.toMatchObject({ next: [expect.stringContaining("pgbouncer=session")] });
  const database = await openDatabase(`${url.href}?pgbouncer=session&search_path=nowhere`, { statementMs: 5_000 });
  try {
    expect(
      await database.all(
        "select current_setting('statement_timeout') as limit, current_setting('search_path') as path",
      ),
    ).toEqual([{ limit: "5s", path: "nowhere" }]);
    await database.all("select 1 as one where $1::text is not null", ["x"]);
    expect(await database.all("select name from pg_prepared_statements")).toHaveLength(1);
  } finally {
    await database.close();
    pooler.close();
  }
});
