/** Open live streams while people and tokens come and go. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { openDatabase } from "../../src/stores/postgres/database.ts";
import { agentDocument } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://cccccccc-0000-4000-8000-00000000000${n}`;
let team: TestTeam;
beforeAll(async () => {
  // Streams are told about changes; they need not look for them.
  team = await startTeam(2, undefined, { recheckMs: 3_600_000 });
  for (const server of [0, 1])
    await vi.waitFor(async () =>
      expect(await (await team.get("/api/health", null, server)).json()).toMatchObject({ watching: true }),
    );
  await team.ship(await team.token("ann", "ship", "core"), [agentDocument(thread(1), thread(1), 1)]);
});
afterAll(() => team.close());

/** A stream after its first message. */
async function opened(token: string | null, query = "", server = 0, init: RequestInit = {}, first = "ready") {
  const response = await team.get(`/api/live?threads=true${query}`, token, server, init);
  const parts = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  /** Reads until it has this text, or to the end. */
  const until = async (text: string | null) => {
    while (text === null || !seen.includes(text)) {
      const part = await parts?.read();
      if (part === undefined || part.done) break;
      seen += part.value;
    }
    return seen;
  };
  expect(await until("\n\n")).toContain(`event: ${first}`);
  return { until, close: async () => parts?.cancel() };
}
const reader = (...teams: string[]) =>
  team.store.tokens.create({ owner: "lead", scope: "read", teams, expiresAt: null });

describe("an open stream", () => {
  it("ends when a person joins its team; the next one says that everything has to be fetched again", async () => {
    const { token } = await reader("core");
    const { headers } = await team.get("/api/threads", token);
    const stream = await opened(token);
    await team.ship(await team.token("bob", "ship", "core"), [agentDocument(thread(2), thread(2), 1)]);
    expect(await stream.until(null)).not.toContain(thread(2));
    const before = encodeURIComponent(headers.get("retinue-live") ?? "");
    await (await opened(token, `&after=${before}`, 0, {}, "reset")).close();
    const after = encodeURIComponent((await team.get("/api/threads", token)).headers.get("retinue-live") ?? "");
    await (await opened(token, `&after=${after}`)).close();
  });

  it("is told to fetch everything again if the database has lost shipments, and continues from there", async () => {
    const { token } = await reader("core");
    const ships = await team.token("ann", "ship", "core");
    for (const revision of [10, 11, 12]) await team.ship(ships, [agentDocument(thread(1), thread(1), revision)]);
    const stream = await opened(token);
    const database = await openDatabase(team.database, { connections: 1 });
    try {
      // As after a failover to a replica that did not have the last shipments.
      await database.all("update retinue.owners set seq = seq - 2 where owner = 'ann'");
      await database.all(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen %'",
      );
    } finally {
      await database.close();
    }
    expect(await stream.until("event: reset")).toContain("the database has lost changes");
    await team.ship(ships, [agentDocument(thread(4), thread(4), 1)]);
    expect(await stream.until(thread(4))).toContain(thread(4));
    await stream.close();
  });

  it("ends at once on every server when its token is revoked; others go on", async () => {
    const [{ id, token }, other] = [await reader("core"), await reader("core")];
    const [here, there, stays] = [await opened(token), await opened(token, "", 1), await opened(other.token)];
    await team.store.tokens.revoke(id);
    expect(await here.until(null)).not.toContain("event: agent");
    expect(await there.until(null)).not.toContain("event: agent");
    await team.ship(await team.token("ann", "ship"), [agentDocument(thread(3), thread(3), 1)]);
    expect(await stays.until(thread(3))).toContain("event: agent");
    await stays.close();
  });

  it("ends when a person no longer shares with its team; the next one shows nothing of that person", async () => {
    const { token } = await reader("docs");
    await team.ship(await team.token("eve", "ship", "docs"), [agentDocument(thread(4), thread(4), 1)]);
    const stream = await opened(token);
    await team.store.tokens.unshare("eve", ["docs"]);
    expect(await stream.until(null)).toContain("event: ready");
    expect((await team.get(`/api/agents/${encodeURIComponent(thread(4))}`, token)).status).toBe(404);
  });

  it("ends when its browser signs out", async () => {
    const { token } = await reader("core");
    const session = await team.get("/api/session", null, 0, {
      method: "POST",
      body: JSON.stringify({ token }),
      headers: { "Content-Type": "application/json" },
    });
    const [Cookie = ""] = (session.headers.get("set-cookie") ?? "").split(";");
    const stream = await opened(null, "", 1, { headers: { Cookie } });
    await team.get("/api/session", null, 0, { method: "DELETE", headers: { Cookie } });
    expect(await stream.until(null)).toContain("event: ready");
  });
});

describe("an open stream of a database that has lost shipments", () => {
  it("is reset, and continues with the shipments that get the same numbers", async () => {
    const ships = await team.token("eva", "ship", "lost");
    const title = (text: string, revision: number) => agentDocument(thread(4), thread(4), revision, { title: text });
    for (const n of [1, 2, 3, 4]) await team.ship(ships, [title(`title ${n}`, n)]);
    const { token } = await reader("lost");
    const streams = [await opened(token), await opened(token, "", 1)];
    // As after a failover to a replica without the last two.
    const database = await openDatabase(team.database, { connections: 1 });
    await database.all("update retinue.owners set seq = 2 where owner = 'eva'");
    await database.all("update retinue.agents set seq = 2, revision = 2 where owner = 'eva'");
    await database.all(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()",
    );
    await database.close();
    for (const stream of streams) expect(await stream.until("event: reset")).toContain("event: reset");
    await team.ship(ships, [title("sent again", 5)]);
    for (const stream of streams) {
      expect(await stream.until("sent again")).toContain("sent again");
      await stream.close();
    }
  });
});

describe("an open stream without notifications", () => {
  it("ends when its token is found to be revoked", async () => {
    const polling = await startTeam(1, undefined, { recheckMs: 20 });
    try {
      const made = await polling.store.tokens.create({ owner: "bob", scope: "read", teams: [], expiresAt: null });
      const live = await polling.get("/api/live?threads=true", made.token);
      const database = await openDatabase(polling.database, { connections: 1 });
      await database.all("update retinue.tokens set revoked_at = now() where id = $1", [made.id]);
      await database.close();
      expect(await live.text()).toContain("event: ready");
    } finally {
      await polling.close();
    }
  });
});
