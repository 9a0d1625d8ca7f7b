/** A client that disconnects in the middle of a body causes no error: nothing is printed, and the server continues. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { COMPILED, MAIN } from "../support/cli.ts";
import { until } from "../support/server.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-aborted-"));
const upstream = createServer((request, response) => void request.resume().on("end", () => response.end("{}")));

beforeAll(() => new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
  rmSync(scratch, { recursive: true, force: true });
});

interface Started {
  readonly url: URL;
  readonly stderr: () => string;
  stop(): Promise<void>;
}

async function start(name: string, args: readonly string[]): Promise<Started> {
  const home = join(scratch, name);
  mkdirSync(home);
  const child: ChildProcess = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH ?? "", ...COMPILED, HOME: home, RETINUE_HOME: join(home, "data") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout?.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  await until(
    () => /http:\S+\n/.test(out),
    () => err,
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    url: new URL(/http:\S+/.exec(out)?.[0] ?? ""),
    stderr: () => err,
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

/**
 * Sends a part of the announced body and disconnects; the length is given by `Content-Length` or by
 * `Transfer-Encoding`.
 */
async function abort({ hostname, port }: URL, method: string, path: string, type: string): Promise<void> {
  for (const length of ["Content-Length: 1000", "Transfer-Encoding: chunked"]) {
    const socket = connect(Number(port), hostname);
    const gone = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => {});
    const part = length.startsWith("Content") ? '{"a":' : '5\r\n{"a":\r\n';
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: ${type}\r\n${length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    // The server has started to read the body, or has already refused it.
    await new Promise((resolve) => socket.once("data", resolve));
    await new Promise((resolve) => socket.write(part, resolve));
    socket.resetAndDestroy();
    await gone;
  }
}

interface Paths {
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
}

describe("an aborted upload", () => {
  it("prints nothing on every route that accepts a body", async () => {
    const server = await start("server", ["serve", "--no-open", "--port", "0"]);
    try {
      const { paths } = (await (await fetch(new URL("/api/openapi.json", server.url))).json()) as Paths;
      const routes = Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods)
          .filter((method) => method !== "get")
          .map((method) => ({ method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, "x") })),
      );
      expect(routes.length).toBeGreaterThan(4);
      const types = ["application/json", "application/x-protobuf"];
      const telemetry = ["traces", "logs", "metrics"].map((signal) => ({ method: "POST", path: `/v1/${signal}` }));
      for (const { method, path } of [...routes, ...telemetry])
        for (const type of types) await abort(server.url, method, path, type);
      expect((await fetch(new URL("/api/health", server.url))).status).toBe(200);
    } finally {
      await server.stop();
    }
    expect(server.stderr().replace(/^.*Press Ctrl-C to stop.*\n/m, "")).toBe("");
  });

  it("prints nothing in the proxy", async () => {
    const { port } = upstream.address() as AddressInfo;
    const proxy = await start("proxy", ["proxy", "--port", "0", "--upstream", `http://127.0.0.1:${port}`]);
    try {
      for (let times = 0; times < 3; times += 1) await abort(proxy.url, "POST", "/v1/messages", "application/json");
      expect((await fetch(new URL("/v1/messages", proxy.url), { method: "POST", body: "{}" })).status).toBe(200);
    } finally {
      await proxy.stop();
    }
    expect(proxy.stderr()).not.toMatch(/\n\s+at |Error|failed/);
  });
});
