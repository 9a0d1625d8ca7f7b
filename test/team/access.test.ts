import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RULES } from "../../src/server/team/access.ts";
import { agentDocument, eventDocument, HEAD } from "./documents.ts";
import { packed, SHIPMENT, startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://aaaaaaaa-0000-4000-8000-00000000000${n}`;
const [ANN, BOB, FORGED, REFUSED] = [thread(1), thread(2), thread(3), thread(4)];
let team: TestTeam;
const tokens = { ann: "", annReads: "", bob: "", bobReads: "", admin: "", core: "", expired: "", revoked: "" };
beforeAll(async () => {
  team = await startTeam();
  tokens.ann = await team.token("ann", "ship", "core");
  tokens.annReads = await team.token("ann", "read");
  tokens.bob = await team.token("bob", "ship", "other");
  tokens.bobReads = await team.token("bob", "read", "other");
  tokens.core = await team.token("lead", "read", "core");
  tokens.admin = await team.token("root", "admin");
  const root = { owner: "root", scope: "admin", teams: [] } as const;
  const ended = new Date(Date.now() - 1_000).toISOString();
  tokens.expired = (await team.store.tokens.create({ ...root, expiresAt: ended })).token;
  const revoked = await team.store.tokens.create({ ...root, expiresAt: null });
  await team.store.tokens.revoke(revoked.id);
  tokens.revoked = revoked.token;
  for (const [token, uri] of [
    [tokens.ann, ANN],
    [tokens.bob, BOB],
  ] as const) {
    const documents = [agentDocument(uri, uri, 1), eventDocument(uri, uri, 0, 1, { text: "zebra crossing" })];
    expect((await team.ship(token, documents)).status).toBe(200);
  }
});
afterAll(() => team.close());

const concrete = (path: string) => path.replace(":uri", encodeURIComponent(ANN)).replace(":id", "e0");

describe("the table of routes", () => {
  it.each(RULES.filter(({ scopes }) => scopes !== "open"))("refuses $method $path without a token", async (rule) => {
    for (const token of [null, "wrong", "rtn_wrong", tokens.expired, tokens.revoked]) {
      const response = await team.get(concrete(rule.path), token, 0, { method: rule.method });
      expect([rule.path, response.status]).toEqual([rule.path, 401]);
      expect(await response.json()).toMatchObject({ error: { code: "unauthorized" } });
    }
  });

  it.each(RULES.filter(({ scopes }) => scopes !== "open"))("refuses $method $path with another scope", async (rule) => {
    const all = { ship: tokens.ann, read: tokens.core, admin: tokens.admin };
    for (const [scope, token] of Object.entries(all)) {
      const response = await team.get(concrete(rule.path), token, 0, { method: rule.method });
      const isAllowed = rule.scopes !== "open" && rule.scopes.some((one) => one === scope);
      expect([rule.path, scope, response.status !== 403]).toEqual([rule.path, scope, isAllowed]);
      await response.body?.cancel();
    }
  });

  it("contains every route that the server describes", async () => {
    const { paths } = await team.json<{ paths: Record<string, Record<string, unknown>> }>(
      "/api/openapi.json",
      tokens.admin,
    );
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
    );
    expect(described.length).toBeGreaterThan(15);
    const listed = RULES.map(({ method, path }) => `${method} ${path}`);
    expect(described.filter((route) => !listed.includes(route))).toEqual([]);
  });

  it("answers /api/health without a token, and nothing of the local server exists", async () => {
    const health = await team.get("/api/health", null);
    expect(health.status).toBe(200);
    expect(JSON.stringify(await health.json())).not.toMatch(/ann|bob/);
    for (const path of [
      "/api/doctor",
      "/api/cards",
      "/api/hooks",
      "/api/requests",
      "/api/demo",
      "/api/relays",
      "/api/links",
      "/api/guard",
    ]) {
      expect([path, (await team.get(path, null)).status]).toEqual([path, 401]);
      expect([path, (await team.get(path, tokens.admin)).status]).toEqual([path, 404]);
    }
  });
});

describe("a viewer", () => {
  const uris = async (token: string, query = "") =>
    (await team.json<{ items: { uri: string; owner: string }[] }>(`/api/threads${query}`, token)).items.map(
      ({ uri, owner }) => `${owner} ${uri}`,
    );

  it("sees the owners of the token's teams and its own threads only", async () => {
    expect(await uris(tokens.annReads)).toEqual([`ann ${ANN}`]);
    expect(await uris(tokens.core)).toEqual([`ann ${ANN}`]);
    expect(await uris(tokens.bobReads)).toEqual([`bob ${BOB}`]);
    expect((await uris(tokens.admin)).sort()).toEqual([`ann ${ANN}`, `bob ${BOB}`]);
    expect(await uris(tokens.admin, "?owner=bob")).toEqual([`bob ${BOB}`]);
    expect(await uris(tokens.core, "?owner=bob")).toEqual([]);
  });

  it("gets 404 for everything about an agent of another owner", async () => {
    const paths = RULES.filter(({ path }) => path.includes(":uri")).map(({ path }) => concrete(path));
    expect(paths.length).toBeGreaterThan(6);
    for (const path of [...paths, ...paths.map((one) => `${one}?owner=ann`)])
      expect([path, (await team.get(path, tokens.bobReads)).status]).toEqual([path, 404]);
    const live = `/api/live?tree=${encodeURIComponent(ANN)}`;
    expect((await team.get(live, tokens.bobReads)).status).toBe(404);
  });

  it("reads nothing about other owners in any list", async () => {
    const lists = RULES.filter(
      ({ method, path, scopes }) => method === "GET" && scopes !== "open" && !path.includes(":"),
    );
    const paths = lists.filter(({ scopes }) => scopes.includes("read")).map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(["/api/threads", "/api/team/now", "/api/team/people"]));
    const queries: Record<string, string> = { "/api/search": "?q=zebra", "/api/stats/threads": "?by=day" };
    for (const path of paths.filter(
      (one) => one !== "/api/live" && one !== "/api/agents" && one !== "/api/openapi.json",
    ))
      for (const narrowed of ["", "owner=ann"]) {
        const query = [queries[path]?.slice(1) ?? "", narrowed].filter((part) => part !== "").join("&");
        const response = await team.get(`${path}?${query}`, tokens.bobReads);
        expect([path, response.status]).toEqual([path, 200]);
        expect(await response.text()).not.toMatch(/\bann\b|00000000001/);
      }
  });

  it("finds only words of owners it may see", async () => {
    const found = async (token: string) =>
      (await team.json<{ items: { uri: string }[] }>("/api/search?q=zebra+cross", token)).items.map(({ uri }) => uri);
    expect(await found(tokens.core)).toEqual([ANN]);
    expect(await found(tokens.bobReads)).toEqual([BOB]);
    expect((await found(tokens.admin)).sort()).toEqual([ANN, BOB]);
  });

  it("loses access when the token is revoked or expires, in browsers, too", async () => {
    const { id, token } = await team.store.tokens.create({ owner: "ann", scope: "read", teams: [], expiresAt: null });
    const opened = await team.get("/api/session", null, 0, {
      method: "POST",
      body: JSON.stringify({ token }),
      headers: { "Content-Type": "application/json" },
    });
    expect(opened.status).toBe(200);
    const [cookie = ""] = (opened.headers.get("set-cookie") ?? "").split(";");
    expect(opened.headers.get("set-cookie")).toMatch(/HttpOnly.*SameSite=Strict/);
    expect(cookie).not.toContain(token);
    const visit = (headers: Record<string, string>) => team.get("/api/threads", null, 0, { headers });
    expect((await visit({ Cookie: cookie })).status).toBe(200);
    expect((await team.get("/api/doctor", null, 0, { headers: { Cookie: cookie } })).status).toBe(404);
    expect((await visit({ Cookie: cookie, Origin: "https://evil.example" })).status).toBe(401);
    expect(await team.store.tokens.revoke(id)).toBe("revoked");
    expect(await team.store.tokens.revoke(id)).toBe("already");
    expect((await visit({ Cookie: cookie })).status).toBe(401);
    expect((await team.get("/api/threads", token)).status).toBe(401);
    const past = await team.store.tokens.create({
      owner: "ann",
      scope: "read",
      teams: [],
      expiresAt: new Date(Date.now() - 1_000).toISOString(),
    });
    expect((await team.get("/api/threads", past.token)).status).toBe(401);
  });

  it("leaves a trace in the audit log", async () => {
    await team.json(concrete("/api/agents/:uri"), tokens.core);
    const { items } = await team.json<{ items: { owner: string; action: string; subject: string }[] }>(
      "/api/team/audit",
      tokens.admin,
    );
    expect(items).toContainEqual(expect.objectContaining({ owner: "lead", action: "tree", subject: ANN }));
    expect(items).toContainEqual(expect.objectContaining({ action: "token-created" }));
  });
});

describe("a shipment", () => {
  const send = (body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = SHIPMENT) =>
    team.get("/api/ingest", tokens.ann, 0, { method: "POST", body, headers });

  it.each([
    ["not JSON", gzipSync(`${JSON.stringify(HEAD)}\nnonsense\n`), "line 2: not JSON"],
    ["no head", gzipSync(`${JSON.stringify(agentDocument(REFUSED, REFUSED, 1))}\n`), "line 1: "],
    ["an unknown kind", packed([{ is: "poem", thread: REFUSED, revision: 1 }]), "unknown kind of document"],
    [
      "a record of another agent",
      packed([{ ...agentDocument(REFUSED, REFUSED, 1), uri: "claude://x" }]),
      "another agent",
    ],
    ["a wrong status", packed([agentDocument(REFUSED, REFUSED, 1, { status: "fine" as never })]), "record.status"],
    ["a revision that is no number", packed([{ ...agentDocument(REFUSED, REFUSED, 1), revision: "9" }]), "revision"],
    ["truncated gzip", packed([agentDocument(REFUSED, REFUSED, 1)]).subarray(0, 60), "truncated"],
  ])("with %s is refused as a whole", async (_, body, message) => {
    const response = await send(body);
    expect(response.status).toBe(422);
    expect(((await response.json()) as { error: { message: string } }).error.message).toContain(message);
    expect((await team.get(`/api/agents/${encodeURIComponent(REFUSED)}`, tokens.annReads)).status).toBe(404);
  });

  it("that is too large is refused before it is unpacked", async () => {
    expect((await send(gzipSync(Buffer.alloc(70 << 20)))).status).toBe(413);
    expect((await send(Buffer.alloc(9 << 20, 1))).status).toBe(413);
    const many = Array.from({ length: 5_001 }, () => ({ is: "removed", thread: REFUSED, uri: REFUSED, revision: 1 }));
    expect((await send(packed(many))).status).toBe(413);
  });

  it("names its owner by the token, whatever it contains", async () => {
    const forged = { ...agentDocument(FORGED, FORGED, 1), owner: "bob" };
    expect((await send(packed([forged]))).status).toBe(200);
    expect((await team.get(`/api/agents/${encodeURIComponent(FORGED)}`, tokens.bobReads)).status).toBe(404);
    expect((await team.get(`/api/agents/${encodeURIComponent(FORGED)}`, tokens.annReads)).status).toBe(200);
  });

  it("is counted in /metrics and in the log", async () => {
    const text = await (await team.get("/metrics", tokens.admin)).text();
    expect(text).toMatch(/^retinue_shipments_total [1-9]/m);
    expect(text).toMatch(/^retinue_shipments_failed_total\{reason="MalformedLine"\} [78]$/m);
    expect(team.logs).toContainEqual(expect.objectContaining({ event: "shipment", owner: "ann", accepted: 2 }));
  });
});
