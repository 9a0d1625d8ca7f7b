/**
 * Runs every command on a terminal over a hostile transcript: it prints no control sequences of the transcript, and
 * connects to nothing but loopback.
 */
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import { EVIL, type HostileHome, hostileHome, OBEYED } from "../support/bad-input/hostile-home.ts";
import { SESSION } from "../support/claude-records.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { homeEnv } from "../support/fixtures.ts";
import { isTool } from "../support/needs.ts";

const PATIENCE_MS = 60_000;

interface Run {
  readonly args: readonly string[];
  /** Its stdin; a terminal if not given. */
  readonly stdin?: string;
  /** For commands that run until they are stopped: the output that shows that the command is ready. */
  readonly until?: RegExp;
  readonly code?: number;
}

/** At least one run of each command; a new command without one fails the test. */
const RUNS: Readonly<Record<string, readonly Run[]>> = {
  retinue: [
    { args: ["THREAD", "--full"] },
    { args: ["CHILD", "--full"] },
    { args: ["-I", "THREAD"] },
    { args: ["--help"] },
    { args: [`claude://${SESSION}/nobody`], code: 1 },
    { args: ["latest\u001b[31m\u202e"], code: 2 },
  ],
  serve: [{ args: ["serve", "--no-open", "--port", "0"], until: /http:\S+/ }],
  db: [{ args: ["db", "migrate", "--store", "postgres://nobody@127.0.0.1:1/none"], code: 1 }],
  budget: [{ args: ["budget", "list", "--store", "postgres://nobody@127.0.0.1:1/none"], code: 1 }],
  demo: [{ args: ["demo", "--no-open", "--port", "0"], until: /http:\S+/ }],
  ls: [{ args: ["ls"] }],
  statusline: [{ args: ["statusline"], stdin: JSON.stringify({ session_id: SESSION }) }],
  tree: [
    { args: ["tree", "THREAD", "--all"] },
    { args: ["tree", "THREAD", "--json"] },
    { args: ["tree", "THREAD", "--timeline"] },
  ],
  events: [
    { args: ["events", "THREAD", "--subtree"] },
    { args: ["events", "THREAD", "--follow"], until: /"kind":"assistant"/ },
  ],
  run: [
    { args: ["run", "--", "true"] },
    { args: ["run", "--", `no-such-program${EVIL.replaceAll("\u0000", "")}`], code: 127 },
  ],
  hooks: [{ args: ["hooks", "install", "claude", "--yes"] }, { args: ["hooks", "uninstall", "claude", "--yes"] }],
  compare: [{ args: ["compare", "THREAD", "CHILD"] }],
  self: [{ args: ["self"], code: 1 }],
  skill: [{ args: ["skill"] }, { args: ["skill", "claude", "--install", "--yes"] }],
  search: [{ args: ["search", "evil"] }],
  guard: [{ args: ["guard"] }],
  stats: [{ args: ["stats"] }],
  watch: [{ args: ["watch"], until: /U\+007F/ }],
  attach: [
    { args: ["attach", "CHILD", "--print-command"] },
    { args: ["attach", "THREAD", "--print-command", "--json"] },
    { args: ["attach", "CHILD", "--at", `nothing${EVIL.replaceAll("\u0000", "")}`], code: 1 },
  ],
  why: [{ args: ["why", "CHILD"] }],
  explain: [{ args: ["explain", "THREAD", "--all"] }, { args: ["explain", "--since", "2020-01-01"] }],
  files: [{ args: ["files", "THREAD", "--diff"] }],
  verify: [{ args: ["verify"], code: 0 }],
  link: [{ args: ["link", "CHILD", "THREAD"] }],
  unlink: [{ args: ["unlink", "CHILD"] }],
  import: [{ args: ["import", "MISSING"], code: 1 }],
  relay: [{ args: ["relay", "opencode", "--url", "SERVER"], until: /waiting for|following/ }],
  proxy: [{ args: ["proxy", "--port", "0", "--upstream", "SERVER"], until: /http:\S+/ }],
  export: [
    ...["html", "json", "markdown", "perfetto"].map((format) => ({ args: ["export", format, "THREAD"] })),
    ...["langsmith", "otlp"].flatMap((format) => [
      { args: ["export", format, "THREAD", "--preview"] },
      { args: ["export", format, "THREAD", "--old", "send"] },
    ]),
  ].map((run) =>
    run.args.includes("otlp") ? { args: run.args.filter((word) => word !== "--old" && word !== "send") } : run,
  ),
  outbox: [{ args: ["outbox", "--retry"] }],
  ship: [
    { args: ["ship", "--to", "SERVER", "--dry-run"] },
    { args: ["ship", "--to", "SERVER", "--status"] },
    { args: ["ship", "--to", "SERVER", "--once"], code: 1 },
  ],
  token: [{ args: ["token", "show"] }],
  hook: [
    { args: ["hook"], stdin: JSON.stringify({ session_id: SESSION, hook_event_name: "Stop", cwd: EVIL }) },
    { args: ["hook", "--flush"] },
  ],
  doctor: [{ args: ["doctor"] }],
  completions: [{ args: ["completions", "bash"] }],
};

/** Control sequences that retinue itself prints: colours, the screen of `watch`, progress. */
const OWN_CODES =
  /\u001b\[(?:[0127]|2[27]|3[1-9])m|\u001b\[(?:\?1049[hl]|\?25[hl]|2J|K|\d+;1H)|\r(?=\n|\u001b\[K|reading |sending )/g;

/** `script` of util-linux, which Debian always has. Other systems have a different program of that name. */
const HAS_PTY = isTool("script", "-qec", "true", "/dev/null");
/** Detects what no preload can: programs other than Node.js, and connections of native modules. */
const HAS_STRACE = isTool("strace", "-f", "--seccomp-bpf", "-e", "trace=connect", "-o", "/dev/null", "true");

const scratch = scratchFolder();
/** `--require`, since `--import` does not apply to workers created from a string. */
const guard = () => `--require=${JSON.stringify(fileAt("network-guard.mjs"))}`;
// Without its types, so that not every process has to load what strips them.
beforeAll(() => {
  const source = readFileSync(join(import.meta.dirname, "../support/network-guard.ts"), "utf8");
  writeFileSync(fileAt("network-guard.mjs"), stripTypeScriptTypes(source));
});
let home: HostileHome;
let server: Server;
const contacted: string[] = [];
const outcomes = new Map<string, { readonly code: number | null; readonly output: string }>();
const nameOf = (command: string, { args }: Run) => `${command}: ${JSON.stringify(args)}`;
const everyRun = Object.entries(RUNS).flatMap(([command, runs]) =>
  runs.map((run) => ({ name: nameOf(command, run), run })),
);
const fileAt = (name: string) => join(scratch(), name);
const linesOf = (name: string) =>
  (existsSync(fileAt(name)) ? readFileSync(fileAt(name), "utf8").split("\n") : []).filter((line) => line !== "");

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

async function perform({
  args,
  stdin,
  until,
}: Run): Promise<{ readonly code: number | null; readonly output: string }> {
  const { port } = server.address() as AddressInfo;
  const places: Readonly<Record<string, string>> = {
    SERVER: `http://127.0.0.1:${port}`,
    THREAD: home.uri,
    CHILD: `${home.uri}/a2c3`,
    MISSING: join(home.home, `missing${EVIL.replaceAll("\u0000", "").replaceAll("/", "")}`),
  };
  const words = [process.execPath, MAIN, ...args.map((word) => places[word] ?? word)];
  const traced = HAS_STRACE
    ? [
        "strace",
        "-f",
        "-A",
        "--seccomp-bpf",
        "-e",
        "trace=connect,bind,sendto,sendmsg",
        "-o",
        fileAt("strace.log"),
        ...words,
      ]
    : words;
  const input = stdin === undefined ? "" : ` < ${quoted(fileAt("stdin"))}`;
  if (stdin !== undefined) writeFileSync(fileAt("stdin"), stdin);
  const command = `${traced.map(quoted).join(" ")}${input}`;
  const [program, ...rest] = HAS_PTY ? ["script", "-qefc", command, "/dev/null"] : ["sh", "-c", `exec ${command}`];
  const child = spawn(program as string, rest, {
    env: {
      PATH: process.env.PATH ?? "",
      ...COMPILED,
      ...homeEnv(home.home),
      RETINUE_HOME: home.data,
      TERM: "xterm-256color",
      NODE_OPTIONS: guard(),
      NETWORK_GUARD_LOG: fileAt("guard.log"),
      LANGSMITH_ENDPOINT: `http://127.0.0.1:${port}`,
      LANGSMITH_API_KEY: "key",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
      ...(args[0] === "hook" ? { TRACE_TO_LANGSMITH: "true" } : {}),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
  let isAsked = false;
  const hear = (chunk: Buffer) => {
    output += chunk.toString();
    if (until?.test(output) !== true || isAsked) return;
    isAsked = true;
    void useServer(args[0] ?? "", output).then(() => child.kill("SIGTERM"));
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  clearTimeout(timer);
  return { code, output: output.replace(/\r\n/g, "\n") };
}

/** A server without requests would contact no host. */
async function useServer(command: string, output: string): Promise<void> {
  const url = /http:\/\/[^\s\u001b]+/.exec(output)?.[0] ?? "";
  if (command === "proxy") await fetch(`${url}/v1/messages`, { method: "POST", body: "{}" });
  if (command === "serve" || command === "demo")
    for (const path of ["/", "/api/threads", "/api/health"]) await fetch(new URL(path, url));
}

describe("every command", () => {
  beforeAll(async () => {
    home = hostileHome(scratch());
    mkdirSync(homeEnv(home.home).TMPDIR ?? "", { recursive: true });
    server = createServer((request, response) => {
      contacted.push(`${request.method} ${request.url}`);
      request
        .resume()
        .on("end", () =>
          response
            .writeHead(request.url === "/runs/multipart" ? 202 : 200, { "content-type": "application/json" })
            .end("{}"),
        );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    for (const { name, run } of everyRun) outcomes.set(name, await perform(run));
  }, 600_000);
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it("is covered by a run", () => {
    expect(Object.keys(RUNS).sort()).toEqual(
      ["retinue", ...buildProgram().commands.map((command) => command.name())].sort(),
    );
  });

  it.each(everyRun)("exits as expected: $name", ({ name, run }) => {
    const { code, output } = outcomes.get(name) ?? { code: null, output: "" };
    if (run.until === undefined)
      expect({ code, output: code === (run.code ?? 0) ? "" : output }).toEqual({ code: run.code ?? 0, output: "" });
    else expect(output).toMatch(run.until);
    expect(output).not.toContain("bug in retinue");
  });

  it("prints no control sequences and no invisible characters", ({ skip }) => {
    skip(!HAS_PTY, "no util-linux script: the output was not a terminal");
    const found = [...outcomes].map(([name, { output }]) => ({
      name,
      obeyed: OBEYED.exec(output.replace(OWN_CODES, ""))?.[0] ?? null,
    }));
    expect(found.filter(({ obeyed }) => obeyed !== null)).toEqual([]);
    expect([...outcomes.values()].filter(({ output }) => /evil|U\+202E/.test(output)).length).toBeGreaterThan(15);
  });

  it("connects only to loopback", () => {
    expect(linesOf("guard.log")).toEqual([]);
    for (const wanted of ["POST /runs/multipart", "POST /v1/traces", "POST /v1/messages", "GET /global/event"])
      expect(contacted).toContain(wanted);
  });

  it("makes no system call that reaches another machine", ({ skip }) => {
    skip(!HAS_STRACE, "no strace");
    const calls = linesOf("strace.log");
    expect(calls.some((line) => line.includes('inet_addr("127.0.0.1")'))).toBe(true);
    expect(calls.filter(leavesMachine)).toEqual([]);
  });
});

/** System calls with an internet address. Resolvers use port 0 without an address to sort addresses. */
const leavesMachine = (line: string) =>
  /sa_family=AF_INET6?/.test(line) && !/inet_addr\("127\.|"::1"|::ffff:127\./.test(line);

describe("the network guard", () => {
  it.each([
    ["connect", 'require("node:net").connect(9, "192.0.2.1").on("error", () => {})', "connect 192.0.2.1"],
    ["fetch", 'fetch("http://192.0.2.1/").catch(() => {})', "connect 192.0.2.1"],
    ["TLS", 'require("node:tls").connect(9, "192.0.2.1").on("error", () => {})', "connect 192.0.2.1"],
    ["a DNS lookup", 'require("node:dns").promises.lookup("name.invalid").catch(() => {})', "lookup name.invalid"],
    [
      "UDP",
      'try { require("node:dgram").createSocket("udp4").send("x", 9, "192.0.2.1") } catch { process.exit() }',
      "send 192.0.2.1",
    ],
    [
      "a worker",
      "new (require('node:worker_threads').Worker)('fetch(\"http://192.0.2.1/\").catch(() => {})', { eval: true })",
      "connect 192.0.2.1",
    ],
    ["a listener", 'require("node:net").createServer().listen(0, "0.0.0.0").unref()', "listen 0.0.0.0"],
  ])("notes and refuses %s", (name, script, noted) => {
    const log = fileAt(`self-test ${name}`);
    execFileSync(process.execPath, ["-e", script], {
      env: { ...process.env, NODE_OPTIONS: guard(), NETWORK_GUARD_LOG: log },
      timeout: PATIENCE_MS,
    });
    expect(readFileSync(log, "utf8")).toContain(noted);
  });

  it("allows loopback", () => {
    const script =
      "const s = require('node:http').createServer((_, r) => r.end('ok')).listen(0, '127.0.0.1', async () => { console.log(await (await fetch('http://localhost:' + s.address().port)).text()); s.close(); })";
    const log = fileAt("self-test loopback");
    const output = execFileSync(process.execPath, ["-e", script], {
      env: { ...process.env, NODE_OPTIONS: guard(), NETWORK_GUARD_LOG: log },
    });
    expect(output.toString()).toBe("ok\n");
    expect(existsSync(log)).toBe(false);
  });
});
