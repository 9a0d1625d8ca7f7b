/** Senders with forged documents or a wrong clock affect only their own threads, and those not permanently. */
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openShippedFile } from "../../src/app/databases.ts";
import { retinue } from "../support/cli.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { agentDocument, eventDocument } from "./documents.ts";
import { packed, SHIPMENT, startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://bbbbbbbb-0000-4000-8000-00000000000${n}`;
const [LOOP, DEEP, EMPTY] = [thread(1), thread(2), thread(3)];

let team: TestTeam;
let [ships, reads] = ["", ""];
beforeAll(async () => {
  team = await startTeam();
  ships = await team.token("ann", "ship");
  reads = await team.token("ann", "read");
});
afterAll(() => team.close());

const at = (uri: string, what = "") => `/api/agents/${encodeURIComponent(uri)}${what}`;

describe("forged documents", () => {
  const agent = agentDocument(EMPTY, EMPTY, 1);
  const list = { is: "spans", thread: EMPTY, agent: EMPTY, at: 0, revision: 1, items: [] };
  it.each([
    ["a revision beyond 2^53", { ...agent, revision: 2 ** 53 }, "revision"],
    ["a revision without a higher one", { ...agent, revision: 2 ** 53 - 1 }, "revision"],
    ["a revision of 0", { ...agent, revision: 0 }, "revision"],
    ["a place beyond 32 bits", { ...agent, place: 2 ** 32 }, "place"],
    ["a negative position", { ...eventDocument(EMPTY, EMPTY, 0, 1), at: -1 }, "at"],
    ["a position of 2^31", { ...eventDocument(EMPTY, EMPTY, 0, 1), at: 2 ** 31 }, "at"],
    ["a URI with NUL", { ...agent, thread: "claude://a\0b" }, "thread"],
    ["a URI of 2,001 characters", { ...agent, thread: "x".repeat(2_001) }, "thread"],
    ["a part between two parts", { ...list, at: 5 }, "at"],
    ["a part that is too long", { ...list, items: Array.from({ length: 129 }, () => ({})) }, "items"],
    [
      "an agent that is its own parent",
      { ...agent, parent: EMPTY, record: { ...agent.record, parent: EMPTY } },
      "parent",
    ],
    ["no object", null, "unknown kind"],
    ["a kind that every object has", { ...agent, is: "constructor" }, "unknown kind"],
  ])("with %s are refused", async (_, document, what) => {
    const body = packed([document]);
    const response = await team.get("/api/ingest", ships, 0, { method: "POST", body, headers: SHIPMENT });
    expect(response.status).toBe(422);
    expect(((await response.json()) as { error: { message: string } }).error.message).toContain(what);
  });

  it("whose agents are each other's parents end in a finite tree", async () => {
    const [a, b] = [`${LOOP}/a`, `${LOOP}/b`];
    const loop = [
      agentDocument(LOOP, LOOP, 1, { parent: b }),
      agentDocument(LOOP, a, 1, { parent: LOOP }),
      agentDocument(LOOP, b, 1, { parent: a }),
      eventDocument(LOOP, b, 0, 1),
    ];
    expect((await team.ship(ships, loop)).status).toBe(200);
    for (const what of ["", "/events?subtree=true", "/spans", "/messages", "/explain", "/files"])
      expect([what, (await team.get(at(LOOP, what), reads)).status]).toEqual([what, 200]);
  });

  it("with a tree that is deeper than any real one spoil only that tree", async () => {
    const uris = Array.from({ length: 2_000 }, (_, i) => (i === 0 ? DEEP : `${DEEP}/a${i}`));
    const chain = uris.map((uri, i) => agentDocument(DEEP, uri, 1, { parent: uris[i - 1] ?? null }));
    expect((await team.ship(ships, chain)).status).toBe(200);
    expect([200, 413, 422, 500]).toContain((await team.get(at(DEEP), reads)).status);
    expect((await team.get("/api/threads", reads)).status).toBe(200);
  });

  it("about agents that do not exist are stored, and invisible until they do", async () => {
    expect((await team.ship(ships, [eventDocument(EMPTY, `${EMPTY}/x`, 7, 1)])).status).toBe(200);
    expect((await team.get(at(EMPTY), reads)).status).toBe(404);
    expect((await team.get(at(`${EMPTY}/x`, "/events"), reads)).status).toBe(404);
    await team.ship(ships, [agentDocument(EMPTY, EMPTY, 2), agentDocument(EMPTY, `${EMPTY}/x`, 2)]);
    const { items } = await team.json<{ items: { id: string }[] }>(at(`${EMPTY}/x`, "/events"), reads);
    expect(items.map(({ id }) => id)).toEqual(["e7"]);
  });
});

describe("a machine whose clock was a year ahead", () => {
  it("is stored after its clock was set right, also if it has lost its positions", async () => {
    const scratch = mkdtempSync(join(tmpdir(), "retinue-clock-"));
    try {
      const home = join(scratch, "home");
      const data = join(scratch, "data");
      cpSync(recordedHome("claude", "c-nested").home, home, { recursive: true });
      const url = team.servers[0]?.url.replace(/\/$/, "") ?? "";
      const [shipToken, readToken] = [await team.token("cleo", "ship"), await team.token("cleo", "read")];
      const env = { HOME: home, RETINUE_HOME: data, RETINUE_TEAM_TOKEN: shipToken };
      const ship = async () => {
        const { code, stderr } = await retinue(home, ["ship", "--once", "--to", url], env);
        expect([code, stderr]).toEqual([0, ""]);
      };
      await ship();
      const shipped = await openShippedFile(join(data, "shipped.sqlite"));
      shipped.reserve(`team ${url}`, 0, (Date.now() + 365 * 86_400_000) * 1_000);
      shipped.close();
      const [path = ""] = filesBelow(home).filter((file) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
      const [line = ""] = readFileSync(join(home, path), "utf8")
        .split("\n")
        .filter((one) => one.includes('"type":"user"'));
      const grow = (uuid: string) =>
        appendFileSync(join(home, path), `${JSON.stringify({ ...JSON.parse(line), uuid })}\n`);
      const messages = async () =>
        (await team.json<{ items: { counts: { messages: number } }[] }>("/api/threads", readToken)).items[0]?.counts
          .messages;
      const first = (await messages()) ?? 0;
      grow("11111111-0000-4000-8000-000000000001");
      await ship();
      expect(await messages()).toBe(first + 1);
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(data, `shipped.sqlite${suffix}`), { force: true });
      grow("11111111-0000-4000-8000-000000000002");
      await ship();
      expect(await messages()).toBe(first + 2);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
});
