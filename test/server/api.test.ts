/** Every route, over real recordings, with valid and invalid requests, checked against the OpenAPI document. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";
import { type ApiDocument, faultsIn } from "../support/openapi.ts";
import { startServer, type TestServer } from "../support/server.ts";

interface Page<T> {
  readonly items: T[];
  readonly next: string | null;
  readonly total: number;
  readonly first: number;
}

const HOME = recordedHome("claude", "c3-nested-parallel").home;
const UNKNOWN = "claude://00000000-0000-4000-8000-000000000000";
let server: TestServer;
let document: ApiDocument;
let thread: AgentTree;
let uri = "";

beforeAll(async () => {
  server = await startServer(HOME);
  document = await server.json<ApiDocument>("/api/openapi.json");
  const { items } = await server.json<Page<AgentTree>>("/api/threads");
  uri = encodeURIComponent(items[0]?.uri ?? "");
  thread = await server.json<AgentTree>(`/api/agents/${uri}`);
});
afterAll(async () => {
  expect(server.messages).toEqual([]);
  await server.close();
});

async function ask(route: string, path: string, init: RequestInit = {}): Promise<{ status: number; body: unknown }> {
  const answer = await server.get(path, init);
  const body: unknown = await answer.json();
  expect({ path, faults: faultsIn(document, route, init.method ?? "GET", answer.status, body) }).toEqual({
    path,
    faults: null,
  });
  return { status: answer.status, body };
}

const post = (body: string, type = "application/json"): RequestInit => ({
  method: "POST",
  body,
  headers: { "Content-Type": type },
});
const nested = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(nested)];

describe("every route responds as documented:", () => {
  it.each([
    ["/api/threads", () => "/api/threads?limit=1&provider=claude&since=2020-01-01&running=false", 200],
    ["/api/threads", () => "/api/threads?status=completed&project=repo", 200],
    ["/api/threads", () => "/api/threads?limit=0", 400],
    ["/api/threads", () => "/api/threads?limit=many", 400],
    ["/api/threads", () => "/api/threads?since=yesterdayish", 400],
    ["/api/threads", () => "/api/threads?status=asleep", 400],
    ["/api/threads", () => "/api/threads?cursor=xyz", 400],
    ["/api/threads", () => "/api/threads?colour=red", 400],
    ["/api/agents/{uri}", () => `/api/agents/${uri}`, 200],
    ["/api/agents/{uri}", () => "/api/agents/latest", 200],
    ["/api/agents/{uri}", () => `/api/agents/${encodeURIComponent(UNKNOWN)}`, 404],
    ["/api/agents/{uri}", () => "/api/agents/what%3F", 400],
    ["/api/agents/{uri}", () => `/api/agents/${encodeURIComponent("claude://../../etc/passwd")}`, 400],
    ["/api/agents/{uri}/events", () => `/api/agents/${uri}/events?limit=5`, 200],
    ["/api/agents/{uri}/events", () => `/api/agents/${uri}/events?subtree=true&from=-3`, 200],
    ["/api/agents/{uri}/events", () => `/api/agents/${uri}/events?limit=5000`, 400],
    ["/api/agents/{uri}/events", () => `/api/agents/${uri}/events?from=1&after=x`, 400],
    ["/api/agents/{uri}/events", () => `/api/agents/${uri}/events?after=00ff-3`, 410],
    ["/api/agents/{uri}/events", () => `/api/agents/${encodeURIComponent(UNKNOWN)}/events`, 404],
    ["/api/agents/{uri}/events/{id}", () => `/api/agents/${uri}/events/nothing`, 404],
    ["/api/agents/{uri}/messages", () => `/api/agents/${uri}/messages`, 200],
    ["/api/agents/{uri}/messages", () => `/api/agents/${encodeURIComponent(UNKNOWN)}/messages`, 404],
    ["/api/agents/{uri}/spans", () => `/api/agents/${uri}/spans`, 200],
    [
      "/api/agents/{uri}/spans",
      () => `/api/agents/${encodeURIComponent(thread.children[0]?.uri ?? "")}/spans?after=nonsense-1`,
      200,
    ],
    ["/api/agents/{uri}/spans", () => `/api/agents/${encodeURIComponent(UNKNOWN)}/spans`, 404],
    ["/api/agents/{uri}/spans", () => `/api/agents/${uri}/spans?colour=red`, 400],
    ["/api/agents/{uri}/why", () => `/api/agents/${encodeURIComponent(thread.children[0]?.uri ?? "")}/why`, 200],
    ["/api/agents/{uri}/why", () => `/api/agents/${encodeURIComponent(UNKNOWN)}/why`, 404],
    ["/api/agents/{uri}/explain", () => `/api/agents/${uri}/explain`, 200],
    ["/api/agents/{uri}/explain", () => `/api/agents/${encodeURIComponent(UNKNOWN)}/explain`, 404],
    ["/api/agents/{uri}/files", () => `/api/agents/${uri}/files`, 200],
    ["/api/agents/{uri}/files", () => `/api/agents/${encodeURIComponent(UNKNOWN)}/files`, 404],
    ["/api/agents/{uri}/attach", () => `/api/agents/${encodeURIComponent(thread.children[0]?.uri ?? "")}/attach`, 200],
    ["/api/agents/{uri}/attach", () => `/api/agents/${encodeURIComponent(UNKNOWN)}/attach`, 404],
    ["/api/search", () => "/api/search?q=leaf", 200],
    ["/api/search", () => "/api/search?q=%20!", 400],
    ["/api/search", () => "/api/search", 400],
    ["/api/compare", () => "/api/compare?left=latest&right=latest", 200],
    ["/api/compare", () => "/api/compare?left=latest,latest&right=latest", 200],
    ["/api/compare", () => "/api/compare?left=latest", 400],
    ["/api/stats", () => "/api/stats", 200],
    ["/api/stats", () => "/api/stats?by=model&by=day&since=2020-01-01", 200],
    ["/api/stats", () => "/api/stats?by=colour", 400],
    ["/api/stats/threads", () => "/api/stats/threads?by=type&key=general-purpose", 200],
    ["/api/stats/threads", () => "/api/stats/threads?by=model&since=2020-01-01&limit=1", 200],
    ["/api/stats/threads", () => "/api/stats/threads", 400],
    ["/api/health", () => "/api/health", 200],
    ["/api/doctor", () => "/api/doctor", 200],
    ["/api/guard", () => "/api/guard", 200],
    ["/api/ship", () => "/api/ship?waiting=true", 200],
    ["/api/ship", () => "/api/ship?waiting=perhaps", 400],
    ["/api/live", () => `/api/live?tree=${encodeURIComponent(UNKNOWN)}`, 404],
    ["/api/live", () => "/api/live?colour=red", 400],
    ["/api/cards", () => "/api/cards", 200],
    ["/api/cards/{id}", () => "/api/cards/card_0", 404],
    ["/api/cards/{id}/agent-activity", () => "/api/cards/card_0/agent-activity", 404],
    ["/api/cards/{id}/logs", () => "/api/cards/card_0/logs", 404],
    ["/api/cards/{id}/logs", () => "/api/cards/card_0/logs?limit=0", 400],
    ["/api/relays", () => "/api/relays", 200],
  ])("GET %s, %#: %s", async (route, path, status) => {
    expect((await ask(route, path())).status).toBe(status);
  });

  it.each([
    [JSON.stringify({ child: "nobody" }), 400],
    [JSON.stringify({ child: UNKNOWN, parent: UNKNOWN }), 404],
    ["{", 400],
    [JSON.stringify({ child: "x".repeat(100_000), parent: "y" }), 413],
  ])("POST /api/links, %#", async (body, status) => {
    expect((await ask("/api/links", "/api/links", post(body))).status).toBe(status);
  });

  it.each([
    [JSON.stringify({ path: "/nowhere/x.jsonl" }), 200],
    ["no JSON", 200],
    ["x".repeat(100_000), 413],
  ])("POST /api/hooks, %#", async (body, status) => {
    expect((await ask("/api/hooks", "/api/hooks", post(body))).status).toBe(status);
  });

  it.each([
    ["/v1/traces", "{}", 200],
    ["/v1/logs", JSON.stringify({ resourceLogs: [{}] }), 200],
    ["/v1/logs", "{", 400],
  ])("POST %s, %#", async (route, body, status) => {
    expect((await ask(route, route, post(body))).status).toBe(status);
  });

  it.each([
    [{ title: " " }, 400],
    [{}, 400],
    [{ title: "x", colour: "red" }, 400],
    [{ title: "x", threads: ["what is this"] }, 400],
    [{ title: "x", threads: ["latest/nobody"] }, 404],
    [{ title: "x", stage: "done" }, 409],
    [{ title: "x".repeat(100_000) }, 413],
  ])("POST /api/cards %j", async (body, status) => {
    expect((await ask("/api/cards", "/api/cards", post(JSON.stringify(body)))).status).toBe(status);
  });

  it("a card is created from a thread, shown, changed, reopened and removed", async () => {
    const change = (method: string, body: unknown) => ({ ...post(JSON.stringify(body)), method });
    const { body: made } = await ask("/api/cards", "/api/cards", post(JSON.stringify({ threads: [thread.uri] })));
    const { id } = made as { id: string };
    const path = `/api/cards/${id}`;
    expect(made).toMatchObject({
      title: thread.title ?? thread.prompt,
      stage: "done",
      waiting: [],
      threads: [thread.uri],
      agents: { total: nested(thread).length },
    });
    const taken = await ask(
      "/api/cards",
      "/api/cards",
      post(JSON.stringify({ title: "Again", threads: [thread.uri] })),
    );
    expect(taken).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining("already in card") as string } },
    });
    const child = await ask("/api/cards/{id}", path, change("PATCH", { threads: [thread.children[0]?.uri] }));
    expect(child.status).toBe(400);
    const { body: activity } = await ask("/api/cards/{id}/agent-activity", `${path}/agent-activity`);
    expect(activity).toMatchObject({
      card_id: id,
      session_mappings: { length: nested(thread).length - 1 },
      agents: { length: nested(thread).length },
    });
    const { body: log } = (await ask("/api/cards/{id}/logs", `${path}/logs?limit=1000`)) as {
      body: { items: { content: string; metadata: { _subagent: boolean } }[] };
    };
    expect(log.items.filter(({ content, metadata }) => content.startsWith("↳ ") !== metadata._subagent)).toEqual([]);
    expect(log.items.some(({ metadata }) => metadata._subagent)).toBe(true);
    expect((await ask("/api/cards/{id}/logs", `${path}/logs?after=nothing`)).status).toBe(404);
    expect(
      (await ask("/api/cards/{id}", path, change("PATCH", { title: "Another", stage: "queued" }))).body,
    ).toMatchObject({
      title: "Another",
      stage: "queued",
    });
    expect((await ask("/api/cards/{id}", path, change("PATCH", { stage: "working" }))).status).toBe(409);
    expect((await ask("/api/cards", "/api/cards")).body).toMatchObject({ items: [{ id, stage: "queued" }] });
    expect((await ask("/api/cards/{id}", path, { method: "DELETE" })).body).toEqual({ id });
    expect((await ask("/api/cards/{id}", path, { method: "DELETE" })).status).toBe(404);
  });

  it.each([
    [{ provider: "claude", url: "http://127.0.0.1:1" }, 400],
    [{ provider: "opencode", url: "file:///etc/passwd" }, 400],
    [{ provider: "opencode" }, 400],
    [{ provider: "opencode", url: "http://192.0.2.1:4096" }, 400],
    [{ provider: "opencode", url: "http://localhost.evil.example:4096", password: "x" }, 400],
    [{ provider: "opencode", url: "http://169.254.169.254/" }, 400],
  ])("POST /api/relays %j", async (body, status) => {
    expect((await ask("/api/relays", "/api/relays", post(JSON.stringify(body)))).status).toBe(status);
  });

  it("POST /api/address returns the URL for a browser", async () => {
    const { status, body } = await ask("/api/address", "/api/address", { method: "POST" });
    expect([status, (body as { address: string }).address.startsWith(server.url)]).toEqual([200, true]);
  });

  it("a link cannot create a cycle", async () => {
    const child = nested(thread).find((agent) => agent.children.length > 0 && agent.depth > 0);
    const link = { child: child?.uri, parent: child?.children[0]?.uri };
    const { status, body } = await ask("/api/links", "/api/links", post(JSON.stringify(link)));
    expect(status).toBe(409);
    expect(body).toMatchObject({ error: { code: "failed", message: expect.stringContaining("cycle") as string } });
  });

  it("a link that does not exist cannot be removed", async () => {
    const answer = await ask("/api/links/{child}", `/api/links/${encodeURIComponent(thread.children[0]?.uri ?? "")}`, {
      method: "DELETE",
    });
    expect(answer.status).toBe(404);
  });

  it("the demo is one separate server, however often it is requested, and cannot start another demo", async () => {
    const start = () => ask("/api/demo", "/api/demo", { method: "POST" });
    const [one, two] = await Promise.all([start(), start()]);
    expect(one).toEqual(two);
    const { address } = one.body as { address: string };
    expect(await (await fetch(new URL("/api/health", address))).json()).toMatchObject({ demo: true });
    expect((await fetch(new URL("/api/demo", address), { method: "POST" })).status).toBe(409);
  });

  it("a HEAD request for a stream is closed at once", async () => {
    const { status, headers } = await server.get("/api/live", { method: "HEAD" });
    expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(await server.json("/api/health")).toMatchObject({ clients: 0 });
  });

  it("the document lists exactly the existing routes, each with a description", async () => {
    const routes = [
      "/api/agents/{uri}",
      "/api/agents/{uri}/attach",
      "/api/agents/{uri}/events",
      "/api/agents/{uri}/events/{id}",
      "/api/agents/{uri}/explain",
      "/api/agents/{uri}/files",
      "/api/agents/{uri}/messages",
      "/api/agents/{uri}/spans",
      "/api/agents/{uri}/steer",
      "/api/agents/{uri}/why",
      "/api/demo",
      "/api/doctor",
      "/api/guard",
      "/api/health",
    ];
    expect(Object.keys(document.paths).sort()).toEqual([
      "/api/address",
      ...routes.slice(0, 10),
      "/api/cards",
      "/api/cards/{id}",
      "/api/cards/{id}/agent-activity",
      "/api/cards/{id}/logs",
      "/api/compare",
      "/api/conversations",
      "/api/conversations/{id}",
      ...routes.slice(10),
      "/api/hooks",
      "/api/links",
      "/api/links/{child}",
      "/api/live",
      "/api/permissions",
      "/api/permissions/{id}",
      "/api/relays",
      "/api/relays/{id}",
      "/api/requests",
      "/api/requests/{id}",
      "/api/requests/{id}/pieces/{piece}",
      "/api/requests/{id}/subtasks",
      "/api/search",
      "/api/ship",
      "/api/stats",
      "/api/stats/threads",
      "/api/steering",
      "/api/threads",
      "/v1/logs",
      "/v1/traces",
    ]);
    for (const path of Object.values(document.paths))
      for (const operation of Object.values(path)) expect(operation).toHaveProperty("summary");
  });

  it("an unknown path is an error for every method", async () => {
    const responses = await Promise.all([
      server.get("/api/nope"),
      server.get("/api/threads", { method: "PUT" }),
      server.get("/api", {}),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect(await responses[0]?.json()).toEqual({
      error: { code: "not_found", message: "no route for GET /api/nope", next: "/api/openapi.json lists all routes" },
    });
  });
});

describe("the API returns what the command line prints:", () => {
  it("threads and trees", async () => {
    expect((await server.json<Page<AgentTree>>("/api/threads")).items).toEqual(await retinueJson(server.home, ["ls"]));
    expect(thread).toEqual(await retinueJson(server.home, ["tree", "latest"]));
  });

  it("why", async () => {
    const child = thread.children[0]?.uri ?? "";
    expect(await server.json(`/api/agents/${encodeURIComponent(child)}/why`)).toEqual(
      await retinueJson(server.home, ["why", child]),
    );
  });

  it("attach: the command to type, and what it would run, without writing anything", async () => {
    const child = thread.children[0]?.uri ?? "";
    const found = await server.json(`/api/agents/${encodeURIComponent(child)}/attach`);
    expect(found).toMatchObject({ command: `retinue attach ${child}`, product: "Claude Code", begins: "history" });
    expect(found).toMatchObject({
      runs: expect.stringMatching(/^claude --resume \S+\/attached\/claude\/\S+ --fork-session/),
    });
  });

  it("events, page by page, of the agent or of the subtree", async () => {
    for (const args of [[], ["--subtree"]]) {
      const { stdout } = await retinue(server.home, ["events", thread.uri, ...args]);
      const printed = stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as AgentEvent);
      const read: AgentEvent[] = [];
      for (let after: string | null = null; ; ) {
        const path = `/api/agents/${uri}/events?limit=7&subtree=${args.length > 0}${after === null ? "" : `&after=${after}`}`;
        const page: Page<AgentEvent> = await server.json(path);
        if (page.items.length === 0) break;
        expect(page).toMatchObject({ first: read.length, total: printed.length });
        read.push(...page.items);
        after = page.next;
      }
      const byId = (a: AgentEvent, b: AgentEvent) => (a.id < b.id ? -1 : 1);
      expect(read.map((event) => ({ ...event, cut: undefined })).sort(byId)).toEqual(
        printed.map((event) => ({ ...event, cut: undefined })).sort(byId),
      );
      expect(read.map((event) => event.at)).toEqual(printed.map((event) => event.at));
    }
  });

  it("one event, by its id", async () => {
    const { items } = await server.json<Page<AgentEvent>>(`/api/agents/${uri}/events`);
    for (const event of items)
      expect(await server.json(`/api/agents/${uri}/events/${encodeURIComponent(event.id)}`)).toEqual(event);
  });
});

it("pages of threads omit and repeat none", async () => {
  const many = await startServer(recordedHome("claude", "h2-forks").home);
  try {
    const all = (await many.json<Page<AgentTree>>("/api/threads")).items.map((record) => record.uri);
    expect(all.length).toBeGreaterThan(2);
    const paged: string[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const page: Page<AgentTree> = await many.json(`/api/threads?limit=1${next === "" ? "" : `&cursor=${next}`}`);
      paged.push(...page.items.map((record) => record.uri));
      next = page.next;
    }
    expect(paged).toEqual(all);
  } finally {
    await many.close();
  }
});
