/** Access control of the server, and the files it serves. */

import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordedHome } from "../support/fixtures.ts";
import { startServer, type TestServer } from "../support/server.ts";

const HOME = recordedHome("claude", "a-single").home;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** A raw request with any host, origin and path. */
function raw(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
  host = "127.0.0.1",
  body = "",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host, port, path, method, headers: { Host: `127.0.0.1:${port}`, ...headers }, agent: false },
      (response) => {
        let text = "";
        const done = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
          // A stream does not end by itself.
          if (text.includes("event: ready")) sent.destroy();
        });
        response.on("end", done).on("close", done);
      },
    );
    sent.on("error", reject).end(body);
  });
}

describe("on loopback", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer(HOME);
  });
  afterAll(() => server.close());
  const PATHS = ["/api/threads", "/api/live?threads=1", "/api/openapi.json", "/"];
  const own = (name: string) => `${name}:${server.port}`;

  it.each(PATHS)("%s is served for its own host names only", async (path) => {
    for (const name of ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.0.0.2"])
      expect((await raw(server.port, path, { Host: own(name) })).status).not.toBe(403);
    const strangers = [
      own("evil.example"),
      "127.0.0.1",
      "127.0.0.1:1",
      own("127.0.0.1.evil.example"),
      own("localhost."),
      own("192.168.1.7"),
      own("0.0.0.0"),
    ];
    for (const host of strangers)
      expect({ host, status: (await raw(server.port, path, { Host: host })).status }).toEqual({ host, status: 403 });
  });

  it.each(PATHS)("%s is refused to pages of other sites", async (path) => {
    for (const origin of [
      "http://evil.example",
      "null",
      `http://localhost:${server.port + 1}`,
      `http://127.0.0.1:${server.port}.evil.example`,
      "file://",
      "",
    ])
      expect({ origin, status: (await raw(server.port, path, { Origin: origin })).status }).toEqual({
        origin,
        status: 403,
      });
    for (const site of ["cross-site", "same-site"])
      expect((await raw(server.port, path, { "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors" })).status).toBe(403);
    expect(
      (await raw(server.port, path, { Origin: `http://127.0.0.1:${server.port}`, "Sec-Fetch-Site": "same-origin" }))
        .status,
    ).not.toBe(403);
  });

  it("a link on another page may open the dashboard, but not the API", async () => {
    const clicked = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
    expect((await raw(server.port, "/", clicked)).status).not.toBe(403);
    expect((await raw(server.port, "/api/threads", clicked)).status).toBe(403);
  });

  it("other sites can neither link nor unlink, and get no CORS preflight", async () => {
    const evil = { Origin: "http://evil.example", "Content-Type": "application/json" };
    for (const [method, path] of [
      ["POST", "/api/links"],
      ["DELETE", "/api/links/x"],
      ["OPTIONS", "/api/links"],
    ] as const) {
      const { status, headers } = await raw(
        server.port,
        path,
        evil,
        method,
        "127.0.0.1",
        method === "POST" ? '{"child":"a","parent":"b"}' : "",
      );
      expect(status).toBe(403);
      expect(headers["access-control-allow-origin"]).toBe(undefined);
    }
    // A form cannot send JSON.
    expect(
      (
        await raw(
          server.port,
          "/api/links",
          { "Content-Type": "text/plain" },
          "POST",
          "127.0.0.1",
          '{"child":"a","parent":"b"}',
        )
      ).status,
    ).toBe(400);
  });

  it.each([...PATHS, "/api/nope", "/nope.js"])(
    "%s has a restrictive content security policy and related headers",
    async (path) => {
      const { headers } = await raw(server.port, path);
      const policy = String(headers["content-security-policy"]);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|\*|https?:/);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
      });
    },
  );

  it("only files of the dashboard are served", async () => {
    writeFileSync(join(server.scratch, "secret.txt"), "secret words");
    const ways = [
      "/../secret.txt",
      "/%2e%2e/secret.txt",
      "/..%2fsecret.txt",
      "/....//secret.txt",
      "/assets/../../secret.txt",
      `/${join(server.scratch, "secret.txt")}`,
    ];
    const places = [
      "//etc/passwd",
      "/etc/passwd.txt",
      "/package.json",
      "/src/server/app.ts",
      "/.git/config",
      "/index.html%00.txt",
      "/..\\secret.txt",
    ];
    for (const path of [...ways, ...places]) {
      const { status, body } = await raw(server.port, path);
      expect({ path, isRefused: status === 404 || status === 400 || body.startsWith("<!doctype html>") }).toEqual({
        path,
        isRefused: true,
      });
      expect(body).not.toMatch(/secret words|root:|"dependencies"/);
    }
  });

  it("is not reachable from other hosts", async () => {
    const outside = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .find(({ family, internal }) => family === "IPv4" && !internal);
    const reached =
      outside === undefined
        ? null
        : await raw(server.port, "/api/health", {}, "GET", outside.address).catch(() => null);
    expect(reached).toBe(null);
  });
});

describe("beyond loopback", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer(HOME, { host: "0.0.0.0" });
  });
  afterAll(() => server.close());

  it("requires the token of the printed URL", async () => {
    expect(server.token?.length).toBeGreaterThan(30);
    expect(server.address).toBe(`http://localhost:${server.port}/?token=${server.token}`);
    for (const path of [
      "/api/threads",
      "/api/health",
      "/api/live",
      "/",
      "/api/openapi.json",
      "/?token=wrong",
      `/api/threads?token=${server.token}`,
    ]) {
      const { status, body } = await raw(server.port, path);
      expect({ path, status }).toEqual({ path, status: 401 });
      expect(body).not.toContain(server.token);
    }
    for (const given of ["", "x", `${server.token}x`, server.token?.slice(0, -1) ?? "", "x".repeat(100_0)])
      expect((await raw(server.port, "/api/threads", { Authorization: `Bearer ${given}` })).status).toBe(401);
    expect((await raw(server.port, "/api/threads", { Authorization: `Bearer ${server.token}` })).status).toBe(200);
  });

  it("replaces the token in the URL by a cookie that is hidden from scripts and other sites", async () => {
    const { status, headers } = await raw(server.port, `/threads/x?token=${server.token}`);
    expect({ status, location: headers.location }).toEqual({ status: 303, location: "/threads/x" });
    const elsewhere = await raw(server.port, `//evil.example/x?token=${server.token}`);
    expect([elsewhere.status, elsewhere.headers.location]).toEqual([303, "/evil.example/x"]);
    const [cookie = ""] = headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Strict/);
    expect((await raw(server.port, "/api/threads", { Cookie: cookie.split(";")[0] ?? "" })).status).toBe(200);
  });

  it("accepts requests to its IP addresses, not to host names, which anyone can point at it", async () => {
    const token = { Authorization: `Bearer ${server.token}` };
    expect((await raw(server.port, "/api/threads", { ...token, Host: `192.168.1.7:${server.port}` })).status).toBe(200);
    expect((await raw(server.port, "/api/threads", { ...token, Host: `[fe80::1]:${server.port}` })).status).toBe(200);
    expect((await raw(server.port, "/api/threads", { ...token, Host: `evil.example:${server.port}` })).status).toBe(
      403,
    );
  });
});
