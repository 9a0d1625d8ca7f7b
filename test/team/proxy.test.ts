import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { identifier, type TrustedProxy } from "../../src/server/team/proxy-identity.ts";
import { agentDocument } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const PROXY: TrustedProxy = {
  addresses: ["127.0.0.1", "10.1.0.0/16", "fd00::/8"],
  header: "X-Forwarded-Email",
  teamsHeader: "X-Forwarded-Groups",
  domain: "example.com",
  admins: ["root"],
};
const ANN = "claude://aaaaaaaa-0000-4000-8000-000000000001";

describe("a trusted proxy", () => {
  const named = (remote: string | undefined, headers: Record<string, string>, more: Partial<TrustedProxy> = {}) =>
    identifier({ ...PROXY, ...more })(remote, (name) => headers[name]);
  const lead = { "X-Forwarded-Email": "Lead@Example.com", "X-Forwarded-Groups": "core, Not A Team,other" };

  it("names a person with scope read, and their teams", () => {
    const grant = { id: "proxy", owner: "lead", scope: "read", teams: ["core", "other"] };
    for (const remote of ["127.0.0.1", "::ffff:127.0.0.1", "10.1.255.3", "fd00::7"])
      expect([remote, named(remote, lead)]).toEqual([remote, grant]);
    expect(named("127.0.0.1", lead, { teamsHeader: null })).toEqual({ ...grant, teams: [] });
    expect(named("127.0.0.1", { "X-Forwarded-Email": "root@example.com" })).toMatchObject({ scope: "admin" });
  });

  it("is believed only if the request comes from its address", () => {
    for (const remote of ["10.2.0.1", "::1", "127.0.0.2", "::ffff:10.2.0.1", "not an address", "", undefined])
      expect([remote, named(remote, lead)]).toEqual([remote, null]);
  });

  it.each([
    ["of another domain", "lead@evil.example"],
    ["with two domains", "lead@example.com@evil.example"],
    ["without a domain", "lead"],
    ["that is no owner", "lead+x@example.com"],
    ["of two headers", "lead@example.com, ann@example.com"],
  ])("names nobody by a name %s", (_, name) => {
    expect(named("127.0.0.1", { "X-Forwarded-Email": name })).toBe("refused");
  });

  it("without a domain names plain names only", () => {
    expect(named("127.0.0.1", { "X-Forwarded-Email": "ann" }, { domain: null })).toMatchObject({ owner: "ann" });
    expect(named("127.0.0.1", { "X-Forwarded-Email": "ann@example.com" }, { domain: null })).toBe("refused");
    expect(named("127.0.0.1", {})).toBe(null);
  });
});

describe("a team server behind a proxy", () => {
  let behind: TestTeam;
  let elsewhere: TestTeam;
  let ships = "";
  beforeAll(async () => {
    behind = await startTeam(1, undefined, { proxy: PROXY, recheckMs: 50 });
    elsewhere = await startTeam(1, behind.database, { proxy: { ...PROXY, addresses: ["10.9.8.7"] } });
    ships = await behind.token("ann", "ship", "core");
    await behind.token("bob", "ship", "other");
    expect((await behind.ship(ships, [agentDocument(ANN, ANN, 1)])).status).toBe(200);
  });
  afterAll(async () => {
    await elsewhere.close();
    await behind.close();
  });

  const lead = { "X-Forwarded-Email": "lead@example.com", "X-Forwarded-Groups": "core" };
  const visit = (team: TestTeam, headers: Record<string, string>, path = "/api/threads", init: RequestInit = {}) =>
    team.get(path, null, 0, { ...init, headers });

  it("shows people what their teams share", async () => {
    const { items } = (await (await visit(behind, lead)).json()) as { items: { uri: string }[] };
    expect(items.map(({ uri }) => uri)).toEqual([ANN]);
    expect(await (await visit(behind, lead, "/api/session")).json()).toEqual({
      owner: "lead",
      scope: "read",
      owners: ["ann", "lead"],
    });
    const others = { ...lead, "X-Forwarded-Groups": "other" };
    expect((await visit(behind, others, `/api/agents/${encodeURIComponent(ANN)}`)).status).toBe(404);
    expect((await visit(behind, lead, `/api/agents/${encodeURIComponent(ANN)}`)).status).toBe(200);
    expect((await visit(behind, lead, "/metrics")).status).toBe(403);
    expect((await visit(behind, { "X-Forwarded-Email": "root@example.com" }, "/metrics")).status).toBe(200);
    const seen = async () => (await behind.store.tokens.audited(50)).items;
    await expect
      .poll(seen)
      .toContainEqual(expect.objectContaining({ token: "proxy", owner: "lead", action: "tree", subject: ANN }));
  });

  it("does not allow shipments, pages of other sites or other domains by its header", async () => {
    expect((await visit(behind, lead, "/api/ingest", { method: "POST" })).status).toBe(401);
    expect((await visit(behind, { ...lead, Origin: "https://evil.example" })).status).toBe(403);
    expect((await visit(behind, { "X-Forwarded-Email": "lead@evil.example" })).status).toBe(401);
  });

  it("ignores the header from other addresses", async () => {
    for (const path of ["/api/threads", "/api/session", "/metrics"])
      expect([path, (await visit(elsewhere, lead, path)).status]).toEqual([path, 401]);
    expect((await elsewhere.get("/api/threads", ships, 0, { headers: lead })).status).toBe(403);
  });

  it("ends the streams of people whom the proxy names after some time, because it may no longer let them in", async () => {
    const live = await visit(behind, lead, "/api/live?threads=true");
    // Ends, so the text is complete.
    expect(await live.text()).toContain("event: ready");
    const next = await visit(behind, lead, "/api/live?threads=true");
    expect(next.status).toBe(200);
    await next.body?.cancel();
  });

  it("ends an open stream when its token is revoked", async () => {
    const { id, token } = await behind.store.tokens.create({ owner: "bob", scope: "read", teams: [], expiresAt: null });
    const live = await behind.get("/api/live?threads=true", token);
    expect(live.status).toBe(200);
    await behind.store.tokens.revoke(id);
    // Ends, so the text is complete.
    expect(await live.text()).toContain("event: ready");
    expect((await behind.get("/api/live?threads=true", token)).status).toBe(401);
  });
});
