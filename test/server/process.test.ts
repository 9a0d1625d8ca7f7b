/** One server per machine, shared by many terminals: real processes that start, are killed, and stop. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { loadSettings } from "../../src/app/settings/settings.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { serve } from "../../src/server/serve.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";
import { needsPosix } from "../support/needs.ts";
import { LiveReader, until } from "../support/server.ts";

let scratch = "";
let children: ChildProcess[] = [];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-process-"));
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  await Promise.all(
    children.map((child) =>
      child.exitCode === null && child.signalCode === null ? new Promise((done) => child.once("exit", done)) : null,
    ),
  );
  children = [];
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

class Run {
  readonly child: ChildProcess;
  stdout = "";
  stderr = "";
  readonly exit: Promise<number | string | null>;

  constructor(args: readonly string[], env: Record<string, string> = {}) {
    const home = {
      PATH: process.env.PATH ?? "",
      ...COMPILED,
      HOME: recordedHome("claude", "a-single").home,
      RETINUE_HOME: join(scratch, "data"),
      TMPDIR: scratch,
    };
    this.child = spawn(process.execPath, [MAIN, ...args], {
      env: { ...home, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(this.child);
    this.child.stdout?.setEncoding("utf8").on("data", (part: string) => {
      this.stdout += part;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (part: string) => {
      this.stderr += part;
    });
    this.exit = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve(code ?? signal)));
  }

  async address(): Promise<string> {
    await until(() => this.stdout.includes("\n") || this.child.exitCode !== null);
    return this.stdout.trim();
  }
}

const note = () => join(scratch, "data/server.json");
const health = async (address: string) =>
  (await (await fetch(new URL("/api/health", address))).json()) as { pid: number; clients: number; demo: boolean };

describe("retinue serve", () => {
  it("prints its URL on a line of its own; on exit closes its streams and removes its note", async (context) => {
    needsPosix("way to ask a process to end")(context);
    const run = new Run(["serve", "--port", "0", "--no-open"]);
    const address = await run.address();
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    const reader = new LiveReader(new URL("/api/live", address));
    await until(() => reader.messages.length > 0);
    expect((await health(address)).clients).toBe(1);
    expect(readFileSync(note(), "utf8")).toContain(address);
    run.child.kill("SIGTERM");
    expect(await run.exit).toBe(0);
    await reader.ended;
    expect(existsSync(note())).toBe(false);
    expect(run.stderr).toBe("Press Ctrl-C to stop.\n");
  });

  it("many that start at the same time share one server", { timeout: 180_000 }, async () => {
    const runs = Array.from({ length: 5 }, (_, i) => new Run(i % 2 === 0 ? [] : ["serve", "--no-open"]));
    const addresses = await Promise.all(runs.map((run) => run.address()));
    expect(new Set(addresses).size).toBe(1);
    const { pid } = await health(addresses[0] ?? "");
    const others = runs.filter((run) => run.child.pid !== pid);
    expect(others.length).toBe(4);
    expect(await Promise.all(others.map((run) => run.exit))).toEqual([0, 0, 0, 0]);
    for (const { stderr } of others) expect(stderr).toContain(`Already running as process ${pid}.`);
  });

  it("a killed server is detected, even if another program uses its port now", {
    timeout: 180_000,
  }, async () => {
    const first = new Run(["serve", "--port", "0"]);
    const address = await first.address();
    first.child.kill("SIGKILL");
    await first.exit;
    expect(existsSync(note())).toBe(true);
    const second = new Run(["serve", "--port", "0"]);
    const another = await second.address();
    expect((await health(another)).pid).toBe(second.child.pid);
    second.child.kill("SIGKILL");
    await second.exit;
    // A program that responds with 200 to every request.
    const { port } = new URL(address);
    const stranger = createServer((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{"instance":"other"}'),
    ).listen(Number(port), "127.0.0.1");
    writeFileSync(note(), readFileSync(note(), "utf8").replaceAll(new URL(another).port, port));
    const third = new Run(["serve", "--port", "0"]);
    expect((await health(await third.address())).pid).toBe(third.child.pid);
    stranger.close();
  });

  it.each(["", "{", "[]", "null", '{"url":"http://127.0.0.1:1/"}'])(
    "a note with the content %j is ignored",
    async (text) => {
      const env = { HOME: recordedHome("claude", "a-single").home, RETINUE_HOME: join(scratch, "data") };
      mkdirSync(env.RETINUE_HOME);
      writeFileSync(note(), text);
      const settings = await loadSettings(env);
      const served = await serve({ env, settings, notify: () => {}, port: 0, host: null });
      onTestFinished(served.stop);
      expect([served.isOwn, (await health(served.url)).pid]).toEqual([true, process.pid]);
      expect(readFileSync(note(), "utf8")).toContain(served.url);
    },
  );

  it("uses another port if the default one is taken", async () => {
    const taken = createServer().listen(4747, "127.0.0.1");
    // If another program has the port, it may be free again by the time of the check.
    const isOurs = await once(taken, "listening").then(
      () => true,
      () => false,
    );
    const free = new Run(["--no-open"]);
    const { port } = new URL(await free.address());
    expect(port).not.toBe(isOurs ? "4747" : "");
    taken.close();
  });

  it("fails if the requested port is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const wanted = new Run(["serve", "--port", String(port)]);
    expect(await wanted.exit).toBe(1);
    expect(wanted.stderr).toContain(`cannot listen on 127.0.0.1:${port}`);
    taken.close();
  });

  it("fails if a server with other options is already running", async () => {
    const run = new Run(["serve", "--port", "0"]);
    const address = await run.address();
    const other = new Run(["serve", "--host", "0.0.0.0"]);
    expect(await other.exit).toBe(1);
    expect(other.stderr).toContain(`a server is already running at ${address}`);
  });

  it.each([
    ["--port", "x"],
    ["--port", "70000"],
    ["--port", "-1"],
  ])("%s %s is not a valid port", async (option, port) => {
    const run = new Run(["serve", option, port]);
    expect(await run.exit).toBe(2);
    expect(run.stderr).toContain(port);
  });

  it("has no timers without running agents and clients, and a heartbeat only with clients", async () => {
    const script = join(scratch, "report.mjs");
    const report = join(scratch, "report.json");
    writeFileSync(
      script,
      `import { writeFileSync } from "node:fs"; process.on("SIGUSR2", () => writeFileSync(${JSON.stringify(report)}, JSON.stringify(process.getActiveResourcesInfo())));`,
    );
    const run = new Run(["serve", "--port", "0"], { NODE_OPTIONS: `--import=${pathToFileURL(script).href}` });
    const address = await run.address();
    const timers = async () => {
      rmSync(report, { force: true });
      run.child.kill("SIGUSR2");
      await until(() => existsSync(report) && readFileSync(report, "utf8").endsWith("]"));
      return (JSON.parse(readFileSync(report, "utf8")) as string[]).filter((name) => name === "Timeout").length;
    };
    await until(async () => (await timers()) === 0);
    const reader = new LiveReader(new URL("/api/live", address));
    await until(() => reader.messages.length > 0);
    expect(await timers()).toBeGreaterThan(0);
    await reader.cut();
    // Node.js itself closes an idle connection after five seconds.
    await until(async () => (await timers()) === 0);
  });
});

describe("retinue demo", () => {
  it("shows a live, nested, partly failing tree without any installed agent, and removes its files", async () => {
    const run = new Run(["demo", "--port", "0", "--no-open"], { HOME: join(scratch, "nobody") });
    const address = await run.address();
    const threads = async () =>
      ((await (await fetch(new URL("/api/threads", address))).json()) as { items: AgentTree[] }).items;
    const isNested = ({ status, counts }: AgentTree) => status === "running" && (counts.byStatus.running ?? 0) > 1;
    await until(
      async () =>
        (await threads()).some(isNested) && (await threads()).some(({ counts }) => (counts.byStatus.errored ?? 0) > 0),
    );
    expect((await health(address)).demo).toBe(true);
    const trees = (await threads()).map(
      async ({ uri }) =>
        (await fetch(new URL(`/api/agents/${encodeURIComponent(uri)}`, address))).json() as Promise<AgentTree>,
    );
    const deepest = (await Promise.all(trees)).flatMap(({ children }) =>
      children.flatMap((child) => child.children.map(({ depth }) => depth)),
    );
    expect(Math.max(...deepest)).toBeGreaterThan(1);
    const reader = new LiveReader(new URL("/api/live", address));
    await until(() => reader.of("event").length > 0);
    await reader.cut();
    expect(readdirSync(scratch).filter((name) => name.startsWith("retinue-demo"))).toHaveLength(1);
    run.child.kill("SIGINT");
    expect(await run.exit).toBe(0);
    expect(readdirSync(scratch)).toEqual([]);
  });
});
