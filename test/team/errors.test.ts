/** Requests that cannot be answered: the response says what is wrong with the request, and nothing about the server. */
import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/stores/postgres/database.ts";
import { isUnstorableValue } from "../../src/stores/postgres/values.ts";
import { agentDocument, HEAD } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const THREAD = "claude://aaaaaaaa-0000-4000-8000-000000000001";
let team: TestTeam;
let [ships, admin] = ["", ""];
beforeAll(async () => {
  team = await startTeam();
  ships = await team.token("ann", "ship");
  admin = await team.token("root", "admin");
  await team.ship(ships, [agentDocument(THREAD, THREAD, 1)]);
});
afterAll(() => team.close());

const errorOf = async (response: Response) => ((await response.json()) as { error: { message: string } }).error;

it.each([
  "/api/agents/%00",
  "/api/agents/claude%3A%2F%2F%00",
  "/api/agents/%00/events?subtree=true",
  `/api/agents/${encodeURIComponent(THREAD)}/events/%00`,
  "/api/threads?project=%00",
  "/api/threads?cwd=%00",
  "/api/search?q=a%00b",
  `/api/threads?cursor=${Buffer.from(JSON.stringify(["2026-01-01T00:00:00Z", "\0", ""])).toString("base64url")}`,
  ...["2026-11T10:00Z", "0000-11-01T20:00:00.000Z", "2026-11-01T24:00:00Z"].map(
    (time) => `/api/threads?cursor=${Buffer.from(JSON.stringify([time, "a", ""])).toString("base64url")}`,
  ),
  `/api/threads?cursor=${Buffer.from(JSON.stringify(["+275760-09-13T00:00:00Z", "a", ""])).toString("base64url")}`,
])("%s is refused", async (path) => {
  const response = await team.get(path, admin);
  expect(response.status).toBe(400);
  expect(await errorOf(response)).toMatchObject({ code: "usage" });
});

it("a name with an encoded NUL character is refused or not found", async () => {
  for (const name of ["%2500", "claude%3A%2F%2F%2500", "claude%3A%2F%2Faaaaaaaa%2500"])
    expect([400, 404]).toContain((await team.get(`/api/agents/${name}`, admin)).status);
});

it.each(["/api/threads", "/api/stats", "/api/team/costs", "/api/team/failures"])(
  "%s since any time is answered",
  async (path) => {
    for (const since of ["999999999w", "+275760-09-13", "-271821-04-20", "0000-01-01"])
      expect([since, (await team.get(`${path}?since=${encodeURIComponent(since)}`, admin)).status]).toEqual([
        since,
        200,
      ]);
  },
);

describe("a shipment", () => {
  const send = (body: Uint8Array<ArrayBuffer> | string, encoding: string) =>
    team.get("/api/ingest", ships, 0, { method: "POST", body, headers: { "Content-Encoding": encoding } });

  it("is refused if its compression is not supported", async () => {
    for (const encoding of ["deflate", "br", "gzip, gzip"]) {
      const response = await send(`${JSON.stringify(HEAD)}\n`, encoding);
      expect([encoding, response.status]).toEqual([encoding, 415]);
      expect(await errorOf(response)).toMatchObject({ code: "unsupported", next: expect.stringContaining("gzip") });
    }
    expect((await send(`${JSON.stringify(HEAD)}\n`, "identity")).status).toBe(200);
    expect((await send(gzipSync(`${JSON.stringify(HEAD)}\n`), "GZIP")).status).toBe(200);
  });

  it("is refused for good if the database cannot store a value, but not because of a bug", async () => {
    const database = await openDatabase(team.database, { connections: 1 });
    try {
      const codeOf = (statement: string, ...parameters: string[]) =>
        database.all(statement, parameters).then(
          () => null,
          (error: unknown) => isUnstorableValue(error),
        );
      expect(await codeOf("select $1::date", "0000-01-01")).toBe(true);
      expect(await codeOf("select $1::text", "\0")).toBe(true);
      const long = randomBytes(4_000).toString("base64");
      const indexed = "insert into retinue.budgets (of, name, usd) values ('project', $1, 1)";
      expect(await codeOf(indexed, long)).toBe(true);
      expect(await codeOf("select * from retinue.nothing")).toBe(false);
    } finally {
      await database.close();
    }
  });
});

it("a large body is refused before it is read, also without a token", async () => {
  const body = JSON.stringify({ token: "x".repeat(100_000) });
  const headers = { "Content-Type": "application/json" };
  // The second one does not say how long it is.
  for (const one of [body, new Blob([body]).stream()]) {
    const init = { method: "POST", body: one, headers, duplex: "half" } as const;
    const response = await team.get("/api/session", null, 0, init);
    expect([response.status, (await errorOf(response)).message]).toEqual([413, expect.stringContaining("65536 bytes")]);
  }
});

it("a bug is named by an id in the log; its text is not sent", async () => {
  const database = await openDatabase(team.database, { connections: 1 });
  await database.all("alter table retinue.budgets rename to secret_name");
  const response = await team.get("/api/team/costs", admin);
  await database.all("alter table retinue.secret_name rename to budgets");
  await database.close();
  expect(response.status).toBe(500);
  const error = await errorOf(response);
  expect(JSON.stringify(error)).not.toMatch(/budgets|relation|retinue\./);
  const [, id] = /^internal error ([0-9a-f]{12})$/.exec(error.message) ?? [];
  expect(team.logs).toContainEqual(
    expect.objectContaining({ event: "error", id, message: expect.stringContaining("retinue.budgets") }),
  );
});
