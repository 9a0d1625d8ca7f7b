import { createHash } from "node:crypto";
import { get } from "node:http";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RULES } from "../../src/server/team/access.ts";
import { openDatabase } from "../../src/stores/postgres/database.ts";
import { agentDocument, eventDocument, HEAD, spentRow } from "./documents.ts";
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
});

describe("the audit log", () => {
  interface Entry {
    readonly owner: string;
    readonly action: string;
    readonly subject: string | null;
    readonly threadOwner: string | null;
  }
  const page = (query = "?limit=1000") =>
    team.json<{ items: Entry[]; next: string | null }>(`/api/team/audit${query}`, tokens.admin);
  /** What a new person did, in the order of the actions' names. */
  const trace = async (owner: string) =>
    (await page()).items
      .filter((one) => one.owner === owner)
      .map(({ action, subject, threadOwner }) => `${action} ${subject} ${threadOwner}`)
      .sort();
  const named = RULES.filter(({ path, method }) => method === "GET" && path.includes(":uri"));

  const lists = ["threads", "stats", "stats/threads?by=day&key=2026-06-01", "team/now", "team/failures"];

  it("names every route that shows a thread", () => {
    expect(named.filter(({ audit }) => audit === undefined)).toEqual([]);
    expect(new Set(named.map(({ audit }) => audit)).size).toBe(named.length);
  });

  it("has the thread and its owner, however it was asked for, and repeats nothing", async () => {
    const why = { uri: ANN, parent: null, forkedFrom: null, continuedIn: [], parentEvidence: [], undecided: [] };
    const status = { status: "completed", statusSource: "protocol", statusReason: "", activity: null } as const;
    const value = { ...why, refused: [], status, statusEvidence: [] };
    const detail = { is: "detail", thread: ANN, agent: ANN, revision: 2 } as const;
    const [busy, failed] = [`${ANN}/busy`, `${ANN}/failed`];
    await team.ship(tokens.ann, [
      { ...detail, what: "why", value },
      { ...detail, what: "spent", value: [spentRow(ANN, 1)] },
      agentDocument(ANN, busy, 1, { status: "running" }),
      agentDocument(ANN, failed, 1, { status: "errored" }),
    ]);
    const token = await team.token("eyes", "read", "core");
    for (let times = 0; times < 2; times += 1) {
      for (const { path } of named) {
        const found = await team.get(`${concrete(path)}${path.endsWith(":uri") ? "?q=harmless" : ""}`, token);
        expect([path, found.status]).toEqual([path, 200]);
      }
      expect((await team.get("/api/agents/latest", token)).status).toBe(200);
      expect((await team.get(`/api/agents/${ANN.slice(9, 30)}?owner=ann`, token)).status).toBe(200);
      expect((await team.get("/api/search?q=zebra", token)).status).toBe(200);
      for (const path of lists) expect([path, (await team.get(`/api/${path}`, token)).status]).toEqual([path, 200]);
      for (const query of ["threads=true", "", `log=${encodeURIComponent(ANN)}`]) {
        const live = await team.get(`/api/live?${query}`, token);
        expect([query, live.status]).toEqual([query, 200]);
        await live.body?.cancel();
      }
    }
    const expected = [
      ...named.map(({ audit }) => `${audit} ${ANN} ann`),
      `live ${ANN} ann`,
      "live null null",
      "failures null ann",
      "now null ann",
      "stats null ann",
      "stats null null",
      "threads null ann",
      "search zebra null",
    ];
    await expect.poll(() => trace("eyes")).toEqual(expected.sort());
  });

  it("has no entry of what was not shown", async () => {
    const token = await team.token("nosy", "read", "other");
    for (const path of [...named.map((rule) => concrete(rule.path)), "/api/agents/nonsense", "/api/search?q=."])
      expect((await team.get(path, token)).status).toBeGreaterThanOrEqual(400);
    expect((await team.get(`/api/live?tree=${encodeURIComponent(ANN)}`, token)).status).toBe(404);
    // The entry of a later visit shows that the earlier ones are complete.
    await team.json("/api/search?q=after", token);
    await expect.poll(() => trace("nosy")).toEqual(["search after null"]);
  });

  it("can be read to its end", async () => {
    const all = (await page()).items;
    expect(all.length).toBeGreaterThan(20);
    for (const action of ["token-created", "token-revoked", "session"])
      expect(all).toContainEqual(expect.objectContaining({ action }));
    const found: Entry[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const { items, next: following }: { items: Entry[]; next: string | null } = await page(
        `?limit=7${next === "" ? "" : `&cursor=${next}`}`,
      );
      found.push(...items);
      next = following;
    }
    expect(found).toEqual(all);
    for (const cursor of ["nonsense", Buffer.from('[1.5,"a"]').toString("base64url")])
      expect((await team.get(`/api/team/audit?cursor=${cursor}`, tokens.admin)).status).toBe(400);
  });
});

describe("a page of another site", () => {
  const foreign = [
    { Origin: "https://evil.example" },
    { "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "same-site" },
  ];

  it.each(RULES)("can send nothing to $method $path", async ({ method, path }) => {
    for (const headers of foreign)
      for (const token of [null, tokens.admin])
        expect((await team.get(concrete(path), token, 0, { method, headers })).status).toBe(403);
  });

  it("can link to the dashboard, and not load its files", async () => {
    const linked = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
    expect(await statusOf(team, "/", linked)).toBe(200);
    expect(await statusOf(team, "/", { "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "no-cors" })).toBe(200);
    expect(await statusOf(team, "/", { ...linked, "Sec-Fetch-Mode": "no-cors" })).toBe(403);
    expect(await statusOf(team, "/api/threads", { ...linked, Authorization: `Bearer ${tokens.admin}` })).toBe(403);
  });

  it("cannot use a name that it points to this server, if the names of the server are set", async () => {
    const strict = await startTeam(1, team.database, { hosts: ["Team.example.com"] });
    try {
      const status = (Host: string) =>
        statusOf(strict, "/api/threads", { Host, Authorization: `Bearer ${tokens.admin}` });
      for (const host of ["team.example.com", "team.example.com:8443", "127.0.0.1:1", "localhost", "[::1]", "10.0.0.7"])
        expect([host, await status(host)]).toEqual([host, 200]);
      for (const host of ["evil.example", "team.example.com.evil.example", "xteam.example.com"])
        expect([host, await status(host)]).toEqual([host, 403]);
    } finally {
      await strict.close();
    }
  });
});

/** `fetch` sends its own `Host` and `Sec-Fetch-Mode`. */
async function statusOf(to: TestTeam, path: string, headers: Record<string, string>): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  get({ port: to.servers[0]?.port, path, headers, agent: false }, (response) => {
    response.resume();
    resolve(response.statusCode);
  }).on("error", reject);
  return promise;
}

it("pages of other sites cannot open a session; its cookie is sent over TLS only if a proxy says that it has TLS", async () => {
  const open = (headers: Record<string, string>) =>
    team.get("/api/session", null, 0, {
      method: "POST",
      body: JSON.stringify({ token: tokens.core }),
      headers: { "Content-Type": "application/json", ...headers },
    });
  const refused = await open({ Origin: "https://evil.example" });
  expect([refused.status, refused.headers.get("set-cookie")]).toEqual([403, null]);
  expect((await open({})).headers.get("set-cookie")).not.toContain("Secure");
  expect((await open({ "X-Forwarded-Proto": "https" })).headers.get("set-cookie")).toContain("Secure");
});

it("the database has no token and no session, only their hashes", async () => {
  const grant = await team.store.tokens.grantOf(tokens.core);
  const secret = grant === null ? "" : await team.store.tokens.openSession(grant);
  const database = await openDatabase(team.database, { connections: 1 });
  const rows = [
    ...(await database.all<{ hash: string }>("select * from retinue.tokens")),
    ...(await database.all<{ hash: string }>("select * from retinue.sessions")),
  ];
  await database.close();
  const text = JSON.stringify(rows);
  for (const token of [...Object.values(tokens), secret]) {
    expect(text).not.toContain(token.slice(4));
    expect(text).toContain(createHash("sha256").update(token).digest("hex"));
  }
});

it("a session is not ended by pages of other sites", async () => {
  const opened = await team.get("/api/session", null, 0, {
    method: "POST",
    body: JSON.stringify({ token: tokens.core }),
    headers: { "Content-Type": "application/json" },
  });
  const [Cookie = ""] = (opened.headers.get("set-cookie") ?? "").split(";");
  const end = (headers: Record<string, string>) =>
    team.get("/api/session", null, 0, { method: "DELETE", headers: { Cookie, ...headers } });
  const isOpen = async () => (await team.get("/api/session", null, 0, { headers: { Cookie } })).status === 200;
  expect((await end({ Origin: "https://evil.example" })).status).toBe(403);
  expect(await isOpen()).toBe(true);
  expect((await end({})).status).toBe(200);
  expect(await isOpen()).toBe(false);
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
