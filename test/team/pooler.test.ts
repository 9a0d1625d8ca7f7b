import { afterAll, beforeAll, expect, it } from "vitest";
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
