/** Senders with forged documents or a wrong clock affect only their own threads, and those not permanently. */
import { randomBytes } from "node:crypto";
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openShippedFile } from "../../src/app/databases.ts";
import { NO_USAGE } from "../../src/core/facts/usage.ts";
import type { SpentRow } from "../../src/core/views/stats.ts";
import { retinue } from "../support/cli.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { agentDocument, eventDocument, HEAD, spentRow } from "./documents.ts";
import { packed, SHIPMENT, startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://bbbbbbbb-0000-4000-8000-00000000000${n}`;
const [LOOP, DEEP, EMPTY, CLOCK, LONG, FORGED, AHEAD] = [1, 2, 3, 4, 5, 6, 7].map(thread) as [
  string,
  string,
  string,
  string,
  string,
  string,
  string,
];

let team: TestTeam;
let [ships, reads] = ["", ""];
beforeAll(async () => {
  team = await startTeam();
  ships = await team.token("ann", "ship");
  reads = await team.token("ann", "read");
});
afterAll(() => team.close());

const at = (uri: string, what = "") => `/api/agents/${encodeURIComponent(uri)}${what}`;

const sent = (documents: readonly unknown[]) =>
  team.get("/api/ingest", ships, 0, { method: "POST", body: packed(documents), headers: SHIPMENT });
const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`);
const counts = (refused: number) => ({ ...agentDocument(EMPTY, EMPTY, 1).record.counts, refused });
const spent = (more: object) => ({
  is: "detail",
  thread: EMPTY,
  agent: EMPTY,
  what: "spent",
  revision: 1,
  value: [{ ...spentRow(EMPTY, 1), ...more }],
});

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
    ["a URI with half a character", { ...agent, thread: "claude://a\ud800" }, "thread"],
    ["a URI with a line break", { ...agent, uri: "claude://a\nb" }, "uri"],
    ["a URI of other folders", { ...agent, thread: "claude://../../etc" }, "thread: not a URI"],
    ["a URI without an id", { ...agent, uri: `${EMPTY}/` }, "uri: not a URI"],
    ["a URI of three parts", { ...agent, uri: `${EMPTY}/a/b` }, "uri: not a URI"],
    ["a URI without a product", { ...agent, parent: "etc" }, "parent: not a URI"],
    ["a URI of 1,001 bytes", { ...agent, thread: `${"é".repeat(500)}x` }, "thread"],
    ["a session id of 1,001 bytes", { ...agent, record: { ...agent.record, sessionId: "x".repeat(1_001) } }, "session"],
    ["a project of 600 kB", { ...agent, record: { ...agent.record, project: "x".repeat(600_000) } }, "project"],
    ["a trillion refused spawns", { ...agent, record: { ...agent.record, counts: counts(1e12) } }, "counts.refused"],
    ["half a message", { ...agent, record: { ...agent.record, counts: counts(11.5) } }, "counts.refused"],
    ["a time that is none", { ...agent, record: { ...agent.record, startedAt: "yesterday" } }, "record.startedAt"],
    ["nested lists", { ...agent, record: { ...agent.record, deep: nested(1_000) } }, "nested too deeply"],
    ["a cost of 1e308", spent({ usage: { ...NO_USAGE, costUsd: 1e308 } }), "costUsd"],
    ["a negative cost", spent({ usage: { ...NO_USAGE, costUsd: -1 } }), "costUsd"],
    ["1e300 tokens", spent({ usage: { ...NO_USAGE, inputTokens: 1e300 } }), "inputTokens"],
    ["11.5 tokens", spent({ usage: { ...NO_USAGE, inputTokens: 11.5 } }), "inputTokens"],
    ["1e15 agents in a row", spent({ agents: 1e15 }), "agents"],
    ["a model of 600 kB", spent({ model: "x".repeat(600_000) }), "model"],
    ["a day that is none", spent({ day: "today" }), "day"],
    ["an infinite duration", spent({ durationMs: 1e308 }), "durationMs"],
    ["a part between two parts", { ...list, at: 5 }, "at"],
    ["a part that is too long", { ...list, items: Array.from({ length: 129 }, () => ({})) }, "items"],
    [
      "an agent that is its own parent",
      { ...agent, parent: EMPTY, record: { ...agent.record, parent: EMPTY } },
      "parent",
    ],
    ["no object", null, "unknown kind"],
    ["a kind that every object has", { ...agent, is: "constructor" }, "unknown kind"],
  ])("with %s are refused, and the refusal says which one it was", async (_, document, what) => {
    const response = await sent([agentDocument(EMPTY, EMPTY, 1), document]);
    expect(response.status).toBe(422);
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    const { thread = null } = (document ?? {}) as { thread?: string };
    expect(error).toMatchObject({ code: "invalid", document: 1, thread });
    expect(error.message).toContain(what);
    expect((await team.get(at(EMPTY), reads)).status).toBe(404);
  });

  it("are named even if their line cannot be read", async () => {
    const errorOf = async (response: Response) => ((await response.json()) as { error: object }).error;
    const broken = gzipSync(`${JSON.stringify(HEAD)}\n{"is":"agent","thread":"${EMPTY}","uri":\n`);
    expect(
      await errorOf(await team.get("/api/ingest", ships, 0, { method: "POST", body: broken, headers: SHIPMENT })),
    ).toEqual({
      code: "invalid",
      message: "line 2: not JSON",
      next: expect.stringContaining("leave its thread out"),
      document: 0,
      thread: EMPTY,
    });
    const large = await sent([agent, eventDocument(EMPTY, EMPTY, 0, 1, { text: "x".repeat(5 << 20) })]);
    expect(large.status).toBe(413);
    expect(await errorOf(large)).toMatchObject({ code: "too_large", document: 1, thread: EMPTY });
    const head = await team.get("/api/ingest", ships, 0, { method: "POST", body: "{}\n" });
    expect(await errorOf(head)).toMatchObject({ code: "invalid", document: null, thread: null });
  });

  it("that would take much more memory than their size are refused before they are parsed", async () => {
    const empty = (n: number) => `[${"{},".repeat(n)}{}]`;
    const line = (n: number) =>
      JSON.stringify(
        eventDocument(EMPTY, EMPTY, 0, 1, { tool: { name: "x", callId: "c", isError: false, input: "INPUT" } }),
      )
        .replace('"INPUT"', empty(n))
        .replace("event 0", "[{".repeat(300_000));
    const outcome = async (lines: readonly string[]) => {
      const body = gzipSync([JSON.stringify(HEAD), ...lines].join("\n"));
      const response = await team.get("/api/ingest", ships, 0, { method: "POST", body, headers: SHIPMENT });
      const { error } = (await response.json()) as { error?: object };
      return { status: response.status, ...error };
    };
    const deep = { status: 413, document: 1, thread: EMPTY };
    expect(await outcome([line(9), line(200_000)])).toMatchObject(deep);
    const many = Array.from({ length: 5 }, () => line(90_000));
    expect(await outcome(many)).toMatchObject({ status: 413, document: null });
    expect(await outcome(Array.from({ length: 20 }, () => "x".repeat(1 << 20)))).toMatchObject({ status: 413 });
    expect(await outcome(Array.from({ length: 5_001 }, () => "x"))).toMatchObject({ status: 413 });
    // Brackets in texts do not count.
    expect(await outcome([line(1_000)])).toMatchObject({ status: 200 });
    await sent([{ is: "removed", thread: EMPTY, uri: EMPTY, revision: 1 }]);
  });

  it("of a wrong clock are stored without a date", async () => {
    const [year0, far] = ["0000-01-01T00:00:00.000Z", "+275760-09-13T00:00:00.000Z"];
    const documents = [
      agentDocument(CLOCK, CLOCK, 1, { startedAt: year0, lastActivityAt: far, durationMs: 8.64e15 }),
      eventDocument(CLOCK, CLOCK, 0, 1, { at: far }),
      eventDocument(CLOCK, CLOCK, 1, 1, { at: year0 }),
      ...["0000-01-01", "+275760-09", "2026-02-31", "9999-12-31"].map((day, i) => ({
        ...spent({ day, durationMs: i === 0 ? -5 : 8.64e15 }),
        thread: CLOCK,
        agent: `${CLOCK}/${i}`,
      })),
    ];
    expect(await (await sent(documents)).json()).toMatchObject({ accepted: 7 });
    const { items } = await team.json<{ items: object[] }>(at(CLOCK, "/events"), reads);
    expect(items).toHaveLength(2);
    const stats = await team.json<{ total: { durationMs: number }; by: { day: { key: string | null }[] } }>(
      "/api/stats?by=day",
      reads,
    );
    expect(stats.by.day.map(({ key }) => key)).toEqual([null]);
    expect(stats.total.durationMs).toBe(0);
    expect((await team.get("/api/team/costs?since=2026-01-01", reads)).status).toBe(200);
  });

  it("with long ids and deep input of tools are stored and found", async () => {
    const id = `/home/${"é".repeat(4_000)}.jsonl:1#0`;
    const tool = { name: "x", callId: "c", isError: false };
    const documents = [agentDocument(LONG, LONG, 1), eventDocument(LONG, LONG, 0, 1, { id })];
    const deep = eventDocument(LONG, LONG, 1, 1, { tool: { ...tool, input: "INPUT" } });
    const lines = [HEAD, ...documents, deep].map((one) => JSON.stringify(one)).join("\n");
    const body = lines.replace('"INPUT"', `${"[".repeat(5_000)}${"]".repeat(5_000)}`);
    expect((await team.get("/api/ingest", ships, 0, { method: "POST", body })).status).toBe(200);
    expect(await team.json(at(LONG, `/events/${encodeURIComponent(id)}`), reads)).toMatchObject({ id });
    expect(await team.json(at(LONG, "/events/e1"), reads)).toMatchObject({
      tool: { input: "(nested too deeply to be stored)" },
    });
  });

  it("fit into every index, whatever they contain", async () => {
    // Random, because PostgreSQL compresses the rows of an index.
    const long = (n: number) => randomBytes(n).toString("base64url").slice(0, n);
    const thread = `claude://${long(991)}`;
    const agent = `claude://${long(991)}`;
    const ids = { sessionId: long(1_000), agentId: long(1_000) };
    const documents = [
      agentDocument(thread, thread, 1, ids),
      agentDocument(thread, agent, 1, ids),
      eventDocument(thread, agent, 0, 1, { id: long(500) }),
      { ...list, thread, agent },
      { ...spent({}), thread, agent },
    ];
    expect(await (await sent(documents)).json()).toMatchObject({ accepted: 5 });
    expect((await team.get(at(agent), reads)).status).toBe(200);
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
    const uris = Array.from({ length: 4_000 }, (_, i) => (i === 0 ? DEEP : `${DEEP}/a${i}`));
    const chain = uris.map((uri, i) => agentDocument(DEEP, uri, 1, { parent: uris[i - 1] ?? null }));
    expect((await team.ship(ships, chain)).status).toBe(200);
    expect([200, 413, 422, 500]).toContain((await team.get(at(DEEP), reads)).status);
    // Comparing each agent with all above it would take minutes.
    const closed = new AbortController();
    const name = encodeURIComponent(DEEP);
    const stream = await team.get(`/api/live?tree=${name}&log=${name}&spans=${name}`, reads, 0, {
      signal: closed.signal,
    });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain("event: ready");
    await team.ship(ships, [
      ...chain.map((one) => ({ ...one, revision: 2 })),
      { is: "spans", thread: DEEP, agent: uris.at(-1) ?? "", at: 0, revision: 2, items: [] },
    ]);
    expect((await reader?.read())?.value).toContain("event: agent");
    closed.abort();
    expect((await team.get("/api/threads", reads)).status).toBe(200);
  });

  it("about agents that do not exist are stored, and invisible until they do", async () => {
    expect((await team.ship(ships, [eventDocument(EMPTY, `${EMPTY}/x`, 7, 1)])).status).toBe(200);
    expect((await team.get(at(EMPTY), reads)).status).toBe(404);
    expect((await team.get(at(`${EMPTY}/x`, "/events"), reads)).status).toBe(404);
    await team.ship(ships, [agentDocument(EMPTY, EMPTY, 2), agentDocument(EMPTY, `${EMPTY}/x`, 2)]);
    const { items } = await team.json<{ items: { id: string }[] }>(at(`${EMPTY}/x`, "/events"), reads);
    expect(items.map(({ id }) => id)).toEqual(["e7"]);
    // As on one machine, agents without spans are listed.
    expect(await team.json(at(EMPTY, "/spans"), reads)).toMatchObject({
      items: [EMPTY, `${EMPTY}/x`].map((uri) => ({ uri, first: 0, removed: null, spans: [] })),
    });
  });
});

describe("the threads behind a line of the statistics", () => {
  interface Line {
    readonly key: string;
    readonly knownCostUsd: number;
    readonly record: { readonly owner: string; readonly uri: string } | null;
  }
  const spentBy = (thread: string, rows: readonly SpentRow[]) =>
    ({ is: "detail", thread, agent: thread, what: "spent", revision: 1, value: rows }) as const;

  it("are those of each owner, also if several have the same thread or name that of another", async () => {
    const [shared, forged] = [
      "claude://bbbbbbbb-0000-4000-8000-000000000001",
      "claude://bbbbbbbb-0000-4000-8000-000000000002",
    ];
    const [dan, eve] = [await team.token("dan", "ship", "mixed"), await team.token("eve", "ship", "mixed")];
    const reads = await team.token("lead", "read", "mixed");
    const model = { model: "m-mixed" };
    await team.ship(dan, [agentDocument(shared, shared, 1), spentBy(shared, [spentRow(shared, 1, model)])]);
    await team.ship(eve, [
      agentDocument(shared, shared, 1),
      spentBy(shared, [spentRow(shared, 7, model)]),
      agentDocument(forged, forged, 1),
      spentBy(forged, [spentRow(shared, 2, model)]),
    ]);
    const { items } = await team.json<{ items: Line[] }>("/api/stats/threads?by=model&key=m-mixed", reads);
    expect(items.map(({ key, knownCostUsd, record }) => [record?.owner, key, record?.uri, knownCostUsd])).toEqual([
      ["eve", shared, shared, 7],
      ["eve", forged, forged, 2],
      ["dan", shared, shared, 1],
    ]);
  });
});

describe("a revision of the future", () => {
  const receipt = async (documents: readonly unknown[]) =>
    (await (await sent(documents)).json()) as { accepted: number; ignored: number; newest: number };
  const title = async (uri: string) => (await team.json<{ title: string }>(at(uri), reads)).title;
  const most = 9e15;

  it("that was forged does not keep the machine from sending newer ones", async () => {
    const child = `${FORGED}/a`;
    await receipt([
      agentDocument(FORGED, FORGED, most, { title: "forged" }),
      { is: "removed", thread: FORGED, uri: FORGED, revision: most - 1 },
      { is: "removed", thread: FORGED, uri: child, revision: most },
      { is: "events-from", thread: FORGED, agent: FORGED, at: 0, revision: most },
    ]);
    expect(await title(FORGED)).toBe("forged");
    const real = (revision: number) => [
      agentDocument(FORGED, FORGED, revision, { title: "real" }),
      agentDocument(FORGED, child, revision),
      eventDocument(FORGED, FORGED, 0, revision),
    ];
    const first = await receipt(real(Date.now() * 1_000));
    expect(first.accepted).toBe(0);
    expect(first.newest).toBeGreaterThan(Date.now() * 1_000);
    expect(first.newest).toBeLessThan((Date.now() + 2 * 86_400_000) * 1_000);
    // What the machine does with the answer.
    expect(await receipt(real(first.newest + 1))).toMatchObject({ accepted: 3, ignored: 0 });
    expect(await title(FORGED)).toBe("real");
  });

  it("counts in the order of arrival, and within a shipment by its number", async () => {
    const year = (Date.now() + 365 * 86_400_000) * 1_000;
    for (const n of [1, 2, 3])
      expect(
        await receipt([
          agentDocument(AHEAD, AHEAD, year + 10 * n + 2, { title: `shipment ${n}` }),
          agentDocument(AHEAD, AHEAD, year + 10 * n + 1, { title: "older" }),
          eventDocument(AHEAD, AHEAD, n, year + 10 * n),
        ]),
      ).toMatchObject({ accepted: 2, newest: expect.any(Number) });
    expect(await title(AHEAD)).toBe("shipment 3");
    // A removal makes void what is older, and nothing else.
    await receipt([
      eventDocument(AHEAD, AHEAD, 4, year + 50),
      { is: "removed", thread: AHEAD, uri: AHEAD, revision: year + 51 },
      agentDocument(AHEAD, AHEAD, year + 52, { title: "again" }),
      eventDocument(AHEAD, AHEAD, 0, year + 53),
    ]);
    expect(await title(AHEAD)).toBe("again");
    expect((await team.json<{ items: { id: string }[] }>(at(AHEAD, "/events"), reads)).items).toMatchObject([
      { id: "e0" },
    ]);
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
