/** Permission requests and steering over HTTP: what a person sees, who may answer, and what reaches the owner. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { answerPermission, controllable } from "../../src/app/control/control.ts";
import { type Endpoint, openEndpoint } from "../../src/app/control/endpoint.ts";
import type { Owner } from "../../src/app/control/owner.ts";
import type { Permission } from "../../src/app/runs/permissions.ts";
import { recordedHome } from "../support/fixtures.ts";
import { type ApiDocument, faultsIn } from "../support/openapi.ts";
import { startServer, type TestServer } from "../support/server.ts";

const HOME = recordedHome("claude", "c3-nested-parallel").home;
const COMMAND = `rm -rf build && ${"echo all of this is shown; ".repeat(400)}`;

let server: TestServer;
let endpoint: Endpoint;
let received: unknown[];
let thread = "";
let child = "";

const asked = (): Permission => ({
  id: "req-1",
  uri: child,
  tool: "Bash",
  input: { command: COMMAND },
  callId: "toolu_1",
  replies: ["once", "reject"],
  always: [],
  askedAt: "2026-11-17T15:00:00.000Z",
});

beforeEach(async () => {
  server = await startServer(HOME);
  const { items } = await server.json<{ items: { uri: string }[] }>("/api/threads");
  thread = items[0]?.uri ?? "";
  const tree = await server.json<{ children: { uri: string }[] }>(`/api/agents/${encodeURIComponent(thread)}`);
  child = tree.children[0]?.uri ?? "";
  received = [];
  let open = [asked()];
  const owner: Owner = {
    state: () => ({ threads: [{ uri: thread, actions: ["stop", "send"] }], permissions: open }),
    answer: async (id, answer) => {
      const isOpen = open.some((one) => one.id === id);
      if (isOpen) received.push({ id, ...answer });
      open = open.filter((one) => one.id !== id);
      return isOpen;
    },
    steer: async (request) => {
      if (request.text === "fail") throw new Error("Claude Code no longer reads its input");
      received.push(request);
    },
  };
  endpoint = await openEndpoint(server.env, owner);
});
afterEach(async () => {
  endpoint.close();
  await server.close();
});

const post = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "Content-Type": "application/json", ...headers },
});
const bearer = () => ({ Authorization: `Bearer ${server.token}` });
const listed = async () => (await server.json<{ items: Permission[] }>("/api/permissions")).items;
const steerPath = (uri: string) => `/api/agents/${encodeURIComponent(uri)}/steer`;

async function documented(route: string, path: string, init: RequestInit = {}) {
  const answer = await server.get(path, init);
  const body = (await answer.json()) as { error?: { code: string } };
  const document = await server.json<ApiDocument>("/api/openapi.json");
  expect(faultsIn(document, route, init.method ?? "GET", answer.status, body)).toBeNull();
  return { status: answer.status, code: body.error?.code ?? null };
}

describe("a permission request", () => {
  it("is listed with everything that would run", async () => {
    const [only, ...more] = await listed();
    expect(more).toEqual([]);
    expect(only).toEqual({ ...asked(), id: expect.stringMatching(/^[a-f\d]+\.req-1$/) });
    expect((await documented("/api/permissions", "/api/permissions")).status).toBe(200);
  });

  it("is answered once, with the token", async () => {
    const [{ id } = { id: "" }] = await listed();
    const path = `/api/permissions/${encodeURIComponent(id)}`;
    const route = "/api/permissions/{id}";
    const reply = post({ reply: "reject", text: "Not now." }, bearer());
    expect(await documented(route, path, reply)).toEqual({ status: 200, code: null });
    expect(await documented(route, path, reply)).toEqual({ status: 404, code: "not_found" });
    expect(received).toEqual([{ id: "req-1", reply: "reject", text: "Not now." }]);
    expect(await listed()).toEqual([]);
  });

  it("is not answered without the token, from other sites, or with a wrong body", async () => {
    const [{ id } = { id: "" }] = await listed();
    const path = `/api/permissions/${encodeURIComponent(id)}`;
    const allow = { reply: "once" };
    const statuses = [];
    for (const init of [
      post(allow),
      post(allow, { Authorization: "Bearer wrong" }),
      post(allow, { ...bearer(), Origin: "http://example.com" }),
      post(allow, { ...bearer(), "Sec-Fetch-Site": "cross-site" }),
      post({ reply: "yes" }, bearer()),
      post({ reply: "once", more: 1 }, bearer()),
      { method: "GET", headers: bearer() },
    ])
      statuses.push((await server.get(path, init)).status);
    expect(statuses).toEqual([401, 401, 403, 403, 400, 400, 404]);
    expect(received).toEqual([]);
    expect(await listed()).toHaveLength(1);
  });

  it("is answered by the browser of this user, which gets a cookie with the page", async () => {
    const page = await server.get("/", { headers: { "Sec-Fetch-Mode": "navigate" } });
    const cookie = page.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const [{ id } = { id: "" }] = await listed();
    const path = `/api/permissions/${encodeURIComponent(id)}`;
    expect((await server.get(path, post({ reply: "once" }, { Cookie: cookie }))).status).toBe(200);
    expect(received).toEqual([{ id: "req-1", reply: "once" }]);
  });
});

it("a server that listens on other addresses than loopback lists requests, but answers none", async () => {
  const open = await startServer(null, { host: "0.0.0.0" });
  const other = await openEndpoint(open.env, {
    state: () => ({ threads: [], permissions: [asked()] }),
    answer: async () => true,
    steer: async () => {},
  });
  try {
    const headers = { Authorization: `Bearer ${open.token}` };
    const { items } = await open.json<{ items: Permission[] }>("/api/permissions", { headers });
    const path = `/api/permissions/${encodeURIComponent(items[0]?.id ?? "")}`;
    const answer = await open.get(path, post({ reply: "once" }, headers));
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("on a loopback address")]);
  } finally {
    other.close();
    await open.close();
  }
});

describe("steering", () => {
  it("lists the threads that can be steered, and passes requests to their owner", async () => {
    expect(await server.json("/api/steering")).toEqual({
      items: [{ uri: thread, actions: ["stop", "send"] }],
      next: null,
    });
    const route = "/api/agents/{uri}/steer";
    expect((await documented(route, steerPath(child), post({ action: "stop" }, bearer()))).status).toBe(200);
    const hello = post({ action: "send", text: "hello" }, bearer());
    expect((await documented(route, steerPath(thread), hello)).status).toBe(200);
    expect(received).toEqual([
      { action: "stop", uri: child },
      { action: "send", text: "hello", uri: thread },
    ]);
  });

  it("is refused without the token, for unsupported actions, unknown agents and threads of others", async () => {
    const statuses = [];
    for (const [uri, body, headers] of [
      [child, { action: "stop" }, {}],
      [child, { action: "background" }, bearer()],
      [thread, { action: "send", text: "fail" }, bearer()],
      ["claude://00000000-0000-4000-8000-000000000000", { action: "stop" }, bearer()],
      [child, { action: "explode" }, bearer()],
    ] as const)
      statuses.push((await server.get(steerPath(uri), post(body, headers))).status);
    expect(statuses).toEqual([401, 409, 409, 404, 400]);
    endpoint.close();
    expect((await server.get(steerPath(child), post({ action: "stop" }, bearer()))).status).toBe(404);
    expect(received).toEqual([]);
  });
});

describe("the endpoint of an owner", () => {
  const notes = () => join(server.env.RETINUE_HOME ?? "", "control");

  it("is announced in a file that only this user can read, until it closes", async () => {
    const before = readdirSync(notes());
    // The one of the server itself, for followed servers, and ours.
    expect(before).toHaveLength(2);
    if (process.platform !== "win32")
      for (const name of before) expect(statSync(join(notes(), name)).mode & 0o777).toBe(0o600);
    endpoint.close();
    expect(readdirSync(notes())).toHaveLength(1);
  });

  it("accepts only the token, and no browser", async () => {
    const note = readdirSync(notes()).map((name) => join(notes(), name));
    const all = note.map((path) => JSON.parse(readFileSync(path, "utf8")) as Record<string, string>);
    const statuses = [];
    for (const { url = "", token = "" } of all)
      for (const headers of [
        {},
        { authorization: "Bearer wrong" },
        { authorization: `Bearer ${token}`, origin: "http://127.0.0.1" },
        { authorization: `Bearer ${token}` },
      ] as Record<string, string>[])
        statuses.push((await fetch(url, { headers })).status);
    expect(statuses).toEqual([401, 401, 401, 200, 401, 401, 401, 200]);
  });

  it("of a killed process is ignored, and its file removed", async () => {
    const path = join(notes(), "abc.json");
    writeFileSync(path, JSON.stringify({ pid: 2 ** 22 + 1, url: "http://127.0.0.1:9/", token: "t" }));
    writeFileSync(
      join(notes(), "def.json"),
      JSON.stringify({ pid: process.pid, url: "http://example.com/", token: "t" }),
    );
    expect((await controllable(server.env)).permissions).toHaveLength(1);
    expect(existsSync(path)).toBe(false);
    for (const id of ["abc.req-1", "def.req-1", "req-1", "../x"])
      await expect(answerPermission(server.env, id, { reply: "once" })).rejects.toThrow("no open permission request");
  });
});
