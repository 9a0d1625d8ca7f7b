/**
 * Ports on loopback are for the user who started the server: checked by the system if possible, otherwise by a token.
 */
import { type ExecFileException, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, type TestContext } from "vitest";
import { type Clients, loadToken, unknownClients } from "../../src/app/access.ts";
import { hook } from "../../src/app/hooks/hook.ts";
import { Relays } from "../../src/app/relay/relays.ts";
import { addressFrom, claim } from "../../src/server/instance.ts";
import { startProxied } from "../proxy/proxied.ts";
import { startUpstream } from "../proxy/upstream.ts";
import { recordedHome } from "../support/fixtures.ts";
import { FakeServer } from "../support/opencode-server.ts";
import { startServer, type TestServer, until } from "../support/server.ts";

const HOME = recordedHome("claude", "a-single").home;
const POST = { method: "POST", headers: { "Content-Type": "application/json" } };
/** Users without an account. The second is the kernel's id for users that it cannot map. */
const OTHERS = [65_533, 65_534];

/** Runs a script as another user and returns its output. */
async function asOther(uid: number, script: string, { skip }: TestContext): Promise<string> {
  skip(process.platform !== "linux" || process.getuid?.() !== 0, "only root on Linux can switch to another user");
  const { error, stdout, stderr } = await new Promise<{
    error: ExecFileException | null;
    stdout: string;
    stderr: string;
  }>((resolve) => {
    const options = { uid, gid: uid, cwd: "/", env: {}, timeout: 60_000 };
    execFile(process.execPath, ["--input-type=module", "-e", script], options, (failed, out, err) =>
      resolve({ error: failed, stdout: out, stderr: err }),
    );
  });
  skip(String(error?.code) === "EACCES", "another user cannot run this Node.js");
  expect(stderr).toBe("");
  return stdout;
}

const asking = (url: string, init: RequestInit = {}) =>
  `const r = await fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}); console.log(r.status, await r.text());`;

describe("if the system reports the owner of a connection", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer(HOME);
  });
  afterAll(() => server.close());

  it("this user's processes need no token, and the printed URL contains none", async ({ skip }) => {
    skip(process.platform !== "linux", "only Linux reports the owner of a connection");
    expect(server.address).toBe(server.url);
    expect((await server.get("/api/threads")).status).toBe(200);
  });

  it.for(OTHERS)("user %i gets 401 everywhere", async (uid, context) => {
    const card = { ...POST, body: '{"title":"planted"}' };
    for (const [path, init] of [
      ["", {}],
      ["api/threads", {}],
      ["api/live", {}],
      ["api/cards", card],
      ["v1/logs", { ...POST, body: "{}" }],
    ] as const)
      expect(await asOther(uid, asking(`${server.url}${path}`, init), context)).toMatch(/^401 .*"unauthorized"/);
  });

  it.for(OTHERS)("user %i gets in with the token", async (uid, context) => {
    const init = { headers: { Authorization: `Bearer ${server.token}` } };
    expect(await asOther(uid, asking(`${server.url}api/threads`, init), context)).toMatch(/^200 /);
  });

  it("a connection that another user closes at once has no effect, even if the kernel reports root", async (context) => {
    const body = '{"title":"planted"}';
    const text = `POST /api/cards HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const script = `import { connect } from "node:net";
      for (let i = 0; i < 20; i += 1) { const s = connect(${server.port}, "127.0.0.1", () => { s.write(${JSON.stringify(text)}, () => i % 2 === 0 ? s.destroy() : s.resetAndDestroy()); }); s.on("error", () => {}); }`;
    await asOther(65_533, script, context);
    expect((await server.get("/api/cards", { ...POST, body: '{"title":"mine"}' })).status).toBe(200);
    expect((await server.json<{ items: { title: string }[] }>("/api/cards")).items.map(({ title }) => title)).toEqual([
      "mine",
    ]);
  });
});

describe("if it does not report it", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer(HOME, { clients: unknownClients });
  });
  afterAll(() => server.close());
  const visit = (url: string, headers: Record<string, string> = {}) => fetch(url, { redirect: "manual", headers });

  it("every client needs the token, which is private and stays the same", async () => {
    for (const path of ["/", "/api/threads", "/api/live", "/api/openapi.json"])
      expect((await server.get(path)).status).toBe(401);
    expect((await server.get("/v1/logs", { ...POST, body: "{}" })).status).toBe(401);
    expect((await server.get("/api/threads", { headers: { Authorization: `Bearer ${server.token}` } })).status).toBe(
      200,
    );
    const file = join(server.env.RETINUE_HOME ?? "", "token");
    expect([readFileSync(file, "utf8"), loadToken(server.env, "token")]).toEqual([`${server.token}\n`, server.token]);
    expect(process.platform === "win32" ? 0o600 : statSync(file).mode & 0o777).toBe(0o600);
  });

  it("the URL admits one browser once, which gets a cookie that is not the token", async () => {
    expect(server.address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}$/);
    expect(server.address).not.toContain(server.token);
    const first = await visit(server.address);
    expect([first.status, first.headers.get("location")]).toEqual([303, "/"]);
    const [cookie = ""] = first.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict/);
    expect(cookie).not.toContain(server.token);
    const kept = { Cookie: cookie.split(";")[0] ?? "" };
    expect((await visit(`${server.url}api/threads`, kept)).status).toBe(200);
    expect((await visit(server.address)).status).toBe(401);
    expect((await visit(server.address, kept)).status).toBe(303);
    expect(
      (await visit(`${server.url}api/threads`, { Authorization: `Bearer ${kept.Cookie.split("=")[1]}` })).status,
    ).toBe(401);
  });

  it("a client with the token can get another such URL", async () => {
    const [one, two] = [await addressFrom(server), await addressFrom(server)];
    expect(one).not.toBe(two);
    for (const address of [two, one]) expect((await visit(address)).status).toBe(303);
    expect((await server.get("/api/address", { method: "POST" })).status).toBe(401);
  });

  it("hooks send it automatically", async () => {
    const folder = mkdtempSync(join(tmpdir(), "retinue-access-"));
    const env = { HOME: folder, RETINUE_HOME: join(folder, "data") };
    let received = "";
    const listener = createServer((socket) => socket.on("data", (part: Buffer) => (received += part))).listen(
      0,
      "127.0.0.1",
    );
    await once(listener, "listening");
    const { port } = listener.address() as AddressInfo;
    const token = loadToken(env, "token");
    claim(env, { instance: "x", pid: 1, host: "127.0.0.1", port, url: `http://127.0.0.1:${port}/`, token, traces: [] });
    await hook(env, () => JSON.stringify({ session_id: "s", hook_event_name: "Stop", cwd: folder }));
    await until(() => received.includes(`\r\nAuthorization: Bearer ${token}\r\n`));
    expect(received).toMatch(/^POST \/api\/hooks /);
    listener.close();
    rmSync(folder, { recursive: true });
  });
});

it("the owner of a connection is looked up once, and not for requests with the token", async () => {
  let asked = 0;
  const clients: Clients = {
    userOf: async () => {
      asked += 1;
      return 0;
    },
  };
  const server = await startServer(HOME, { clients });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (headers: Record<string, string> = {}) =>
    new Promise<number>((resolve, reject) => {
      request(new URL("/api/health", server.url), { agent, headers }, (answer) =>
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0)),
      )
        .on("error", reject)
        .end();
    });
  try {
    asked = 0;
    expect(await get({ Authorization: `Bearer ${server.token}` })).toBe(200);
    expect(asked).toBe(0);
    for (let i = 0; i < 5; i += 1) expect(await get()).toBe(200);
    expect(asked).toBe(1);
  } finally {
    agent.destroy();
    await server.close();
  }
});

describe("the proxy", () => {
  async function proxied(options: Parameters<typeof startProxied>[1] = {}) {
    const upstream = await startUpstream(({ outgoing }) => outgoing.end("{}"));
    const proxy = await startProxied(upstream.url, options);
    const close = async () => {
      await proxy.dispose();
      await upstream.close();
    };
    return {
      url: proxy.url.replace("0.0.0.0", "127.0.0.1"),
      asked: () => upstream.asked.map(({ incoming }) => incoming.url),
      close,
    };
  }

  const ask = (url: string, headers: Record<string, string> = {}, path = "/v1/messages") =>
    new Promise<number>((resolve, reject) => {
      request(`${url}${path}`, { method: "POST", headers, agent: false }, (answer) =>
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0)),
      )
        .on("error", reject)
        .end("{}");
    });

  it("forwards nothing for web pages or for foreign host names", async () => {
    const proxy = await proxied();
    const { host } = new URL(proxy.url);
    try {
      for (const origin of ["http://evil.example", "null", `http://${host}.evil.example`])
        expect(await ask(proxy.url, { Origin: origin })).toBe(403);
      for (const site of ["cross-site", "same-site"])
        expect(await ask(proxy.url, { "Sec-Fetch-Site": site })).toBe(403);
      for (const name of ["evil.example", `evil.example:${new URL(proxy.url).port}`, "127.0.0.1:1"])
        expect(await ask(proxy.url, { Host: name })).toBe(403);
      expect(proxy.asked()).toEqual([]);
      expect(await ask(proxy.url)).toBe(200);
      expect(await ask(proxy.url, { Host: `localhost:${new URL(proxy.url).port}` })).toBe(200);
    } finally {
      await proxy.close();
    }
  });

  it("refuses other users", async (context) => {
    const proxy = await proxied();
    try {
      for (const uid of OTHERS)
        expect(await asOther(uid, asking(`${proxy.url}/v1/messages`, { method: "POST", body: "{}" }), context)).toMatch(
          /^401 /,
        );
    } finally {
      await proxy.close();
    }
  });

  it.each([
    ["if the system does not report owners", { clients: unknownClients }],
    ["if configured", { requiresToken: true }],
    ["on a public address", { host: "0.0.0.0" }],
  ])("requires its token %s, which its URL contains and the upstream never receives", async (_, options) => {
    const proxy = await proxied(options);
    const { origin } = new URL(proxy.url);
    try {
      expect(proxy.url).toMatch(/\/~[\w-]{32}$/);
      expect(await ask(origin)).toBe(401);
      expect(await ask(`${origin}/~wrong`)).toBe(401);
      expect(proxy.asked()).toEqual([]);
      expect(await ask(proxy.url, {}, "/v1/messages?x=1")).toBe(200);
      expect(proxy.asked()).toEqual(["/v1/messages?x=1"]);
    } finally {
      await proxy.close();
    }
  });
});

describe("followed servers", () => {
  const SECRET = "OPENCODE_SERVER_PASSWORD";

  it.each([
    ["is not sent to an address that only a request names", false],
    ["is sent to an address that the settings name", true],
  ])("a password in the environment %s", async (_, isNamed) => {
    const folder = mkdtempSync(join(tmpdir(), "retinue-access-"));
    const product = new FakeServer();
    product.password = "the-password";
    const url = await product.start();
    const relays = new Relays(
      { HOME: folder, RETINUE_HOME: join(folder, "data"), [SECRET]: "the-password" },
      isNamed ? [url] : [],
    );
    try {
      await relays.add({ provider: "opencode", url });
      await until(() => relays.list[0]?.state === (isNamed ? "following" : "refused"));
      expect(product.authorizations.length > 0).toBe(isNamed);
    } finally {
      await relays.stop();
      await product.stop();
      rmSync(folder, { recursive: true });
    }
  });

  it("are outside this machine only if the settings name them, even if they were followed before", async () => {
    const folder = mkdtempSync(join(tmpdir(), "retinue-access-"));
    const env = { HOME: folder, RETINUE_HOME: join(folder, "data") };
    const remote = { provider: "opencode", url: "http://192.0.2.1:4096" };
    try {
      const [trusting, strict, again] = [new Relays(env, [remote.url]), new Relays(env, []), new Relays(env, [])];
      await trusting.add(remote);
      await trusting.stop();
      await expect(strict.add(remote)).rejects.toThrow(/not on this machine/);
      await expect(again.resume()).rejects.toThrow(/not on this machine/);
      expect([...strict.list, ...again.list]).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
