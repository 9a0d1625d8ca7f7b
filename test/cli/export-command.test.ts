/** `retinue export`: files, previews, LangSmith's time window, backfill, following, and tracing by the server. */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadSettings } from "../../src/app/settings/settings.ts";
import type { ExportedTree } from "../../src/exporters/json/tree.ts";
import type { ExportRequest } from "../../src/exporters/otlp/shape.ts";
import { serve } from "../../src/server/serve.ts";
import { MAIN, retinue } from "../support/cli.ts";
import { FIXTURES, filesBelow } from "../support/fixtures.ts";
import { type LangSmithServer, type Service, startLangSmith, startService } from "../support/langsmith-server.ts";
import { readRequest } from "../support/otlp-schema.ts";
import { until } from "../support/server.ts";
import { storiesOf } from "../support/stories.ts";

let scratch: string;
let home: string;
let env: Record<string, string>;
let children: ChildProcess[] = [];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-export-"));
  home = join(scratch, "home");
  cpSync(join(FIXTURES, "claude/c3-nested-parallel/home"), home, { recursive: true });
  env = { PATH: process.env.PATH ?? "", HOME: home, RETINUE_HOME: join(scratch, "data") };
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children = [];
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
});

const run = (...args: readonly string[]) => retinue(home, ["export", ...args], env);
const calls = async () => (await storiesOf(home))[0]?.record.usage.subtree.calls;

describe("files", () => {
  it("are written or printed, with exactly the subtree", async () => {
    const whole = JSON.parse((await run("json", "latest")).stdout) as ExportedTree;
    expect(whole).toMatchObject({
      schema: "retinue/export@1",
      redaction: "full",
      agent: { counts: { descendants: 8 } },
    });
    const below = whole.agent.children[0];
    const part = JSON.parse((await run("json", below?.uri ?? "")).stdout) as ExportedTree;
    expect([part.agent.uri, part.agent.children.length]).toEqual([below?.uri, below?.children.length]);
    for (const format of ["html", "markdown", "perfetto"]) {
      const file = join(scratch, `tree.${format}`);
      expect(await run(format, "latest", "--out", file)).toEqual({ code: 0, stdout: "", stderr: "" });
      expect(readFileSync(file, "utf8")).toBe((await run(format, "latest")).stdout);
    }
    expect((await run("markdown", "latest", "--level", "metadata")).stdout).not.toContain("Two parents.");
  });

  it.each([
    [["html"], "no URI"],
    [["html", "latest", "--follow"], "--follow needs a file to rewrite"],
    [["json", "--backfill", "--since", "1d"], "--backfill cannot be used with json"],
    [["otlp", "--backfill"], "--backfill needs --since"],
    [["otlp", "latest", "--since", "1d"], "--since needs --backfill"],
    [["otlp", "latest", "--old", "skip"], "--old cannot be used with otlp"],
    [["langsmith", "latest"], "no LangSmith API key is set"],
    [["nonsense", "latest"], "nonsense"],
  ])("%j fails with a clear message", async (args, words) => {
    const { code, stdout, stderr } = await run(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(words);
  });
});

describe("langsmith", () => {
  let server: LangSmithServer;
  beforeEach(async () => {
    server = await startLangSmith();
  });
  afterEach(() => server.close());
  const keyed = () =>
    Object.assign(env, {
      CC_LANGSMITH_API_KEY: "test-key",
      LANGSMITH_ENDPOINT: server.url,
      CC_LANGSMITH_PROJECT: "mine",
    });
  const llms = () => [...server.runs.values()].filter(({ run_type }) => run_type === "llm").length;

  it("sends exactly what the preview shows", async () => {
    keyed();
    const { stdout } = await run("langsmith", "latest", "--preview");
    expect(server.requests).toEqual([]);
    expect((await run("langsmith", "latest")).code).toBe(0);
    const sent = server.requests.map(({ body }) => body.toString()).join("");
    const parts = (text: string) =>
      text.split(/^--+RetinueFormBoundary.*\r\n/m).filter((part) => part !== "" && part !== "--\r\n");
    expect(parts(stdout).toSorted()).toEqual(parts(sent).toSorted());
    expect([...server.runs.values()][0]?.session_name).toBe("mine");
  });

  it("reports runs that LangSmith would refuse; on request shifts them and keeps the true times", async () => {
    cpSync(join(FIXTURES, "claude/v2.1.0/home"), home, { recursive: true });
    const old =
      (await storiesOf(home))
        .map(({ record }) => record)
        .toSorted((a, b) => ((a.startedAt ?? "") < (b.startedAt ?? "") ? -1 : 1))[0]?.uri ?? "";
    ageTo(2 * 24 * 3_600_000);
    const cloud = { ...env, LANGSMITH_API_KEY: "k" };
    const skipped = await retinue(home, ["export", "langsmith", old, "--preview"], cloud);
    expect([skipped.stdout, skipped.stderr]).toEqual(["", expect.stringContaining("began more than a day ago")]);
    keyed();
    expect((await run("langsmith", old, "--old", "shift")).code).toBe(0);
    for (const taken of server.runs.values()) {
      expect(Date.now() - Date.parse(taken.start_time)).toBeLessThan(24 * 3_600_000);
      expect(Date.now() - Date.parse(String(taken.extra?.metadata.true_start_time))).toBeGreaterThan(24 * 3_600_000);
    }
    expect(server.runs.size).toBeGreaterThan(0);
  });

  /** Moves all recorded times into the past. */
  function ageTo(ms: number) {
    const files = filesBelow(home).filter((file) => file.endsWith(".jsonl"));
    for (const file of files) {
      const text = readFileSync(join(home, file), "utf8");
      writeFileSync(
        join(home, file),
        text.replace(
          /"timestamp":"([^"]+)"/g,
          (_, at: string) => `"timestamp":"${new Date(Math.min(Date.parse(at), Date.now()) - ms).toISOString()}"`,
        ),
      );
    }
  }

  it("sends history with --backfill, and continues where it stopped", async () => {
    keyed();
    cpSync(join(FIXTURES, "claude/b-parallel3/home"), home, { recursive: true });
    const stories = await storiesOf(home);
    const { code, stdout } = await run("langsmith", "--backfill", "--since", "2020-01-01");
    expect([code, stdout]).toEqual([0, expect.stringContaining(`in ${stories.length} threads`)]);
    expect(llms()).toBe(stories.reduce((sum, { record }) => sum + record.usage.subtree.calls, 0));
    const requests = server.requests.length;
    expect((await run("langsmith", "--backfill", "--since", "2020-01-01")).stdout).toContain(" 0 of them new");
    expect(server.requests.length).toBe(requests);
  });

  it("of one agent sends its subtree and its ancestors, with the same ids", async () => {
    keyed();
    const [story] = await storiesOf(home);
    const agent = story?.children[0];
    expect((await run("langsmith", agent?.record.uri ?? "")).code).toBe(0);
    const part = new Set(server.runs.keys());
    expect(llms()).toBe(agent?.record.usage.subtree.calls);
    expect((await run("langsmith", "latest")).code).toBe(0);
    expect(llms()).toBe(await calls());
    for (const id of part) expect(server.runs.has(id)).toBe(true);
    expect(server.repeated).toEqual([]);
  });

  it("writes a debug log of requests and responses on request", async () => {
    keyed();
    expect((await run("langsmith", "latest", "--debug")).code).toBe(0);
    const log = readFileSync(join(env.RETINUE_HOME as string, "logs/export.log"), "utf8");
    for (const words of [
      /call toolu_\w+ spawned agent \w+/,
      /call toolu_\w+ of Bash spawned no agent/,
      /read .*\.jsonl, \d+ bytes/,
      /sending \d+ \(\d+ bytes\)/,
      /responded: 202 \(accepted\)/,
    ])
      expect(log).toMatch(words);
    expect(log).not.toContain("test-key");
    expect(log).not.toContain("Two parents.");
  });

  it("sends new records with --follow", async () => {
    keyed();
    const [story] = await storiesOf(home);
    const child = spawn(process.execPath, [MAIN, "export", "langsmith", story?.record.uri ?? "", "--follow"], {
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    children.push(child);
    await until(() => llms() === story?.record.usage.subtree.calls);
    appendTurn();
    await until(() =>
      [...server.runs.values()].some(({ inputs }) => JSON.stringify(inputs).includes("one more thing")),
    );
    expect(server.repeated).toEqual([]);
  });

  it("receives the traces of a running server", async () => {
    keyed();
    const tracing = await startTracing({ TRACE_TO_LANGSMITH: "true" });
    appendTurn();
    await until(() =>
      [...server.runs.values()].some(({ inputs }) => JSON.stringify(inputs).includes("one more thing")),
    );
    // Threads that ended before the server started are not traced.
    expect([...server.runs.values()].some(({ inputs }) => JSON.stringify(inputs).includes("Grow a tree"))).toBe(false);
    await tracing.stop();
  });

  async function startTracing(more: Record<string, string>) {
    const all = { ...env, ...more };
    const served = await serve({ env: all, settings: await loadSettings(all), notify: () => {}, port: 0, host: null });
    await until(
      async () => ((await (await fetch(new URL("/api/health", served.url))).json()) as { watching: boolean }).watching,
    );
    return served;
  }

  /** A prompt and its response, with today's date. */
  function appendTurn() {
    const projects = join(home, ".claude/projects");
    const project = join(projects, readdirSync(projects)[0] as string);
    const file = join(project, readdirSync(project).find((name) => name.endsWith(".jsonl")) as string);
    const session = file.slice(-"00000000-0000-0000-0000-000000000000.jsonl".length, -".jsonl".length);
    const row = (n: number, more: object) => ({
      uuid: `more-${n}-${"0".repeat(20)}`,
      sessionId: session,
      isSidechain: false,
      version: "2.1.325",
      timestamp: new Date(Date.now() + n).toISOString(),
      ...more,
    });
    const lines = [
      row(1, { type: "user", message: { role: "user", content: "one more thing" } }),
      row(2, {
        type: "assistant",
        message: {
          id: "msg_more_0000000000000000",
          role: "assistant",
          model: "claude-opus-5-5",
          stop_reason: "end_turn",
          content: [{ type: "text", text: "Sure." }],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      }),
    ];
    appendFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }
});

describe("otlp", () => {
  let collector: Service;
  let answer: { status: number; body: string | Uint8Array };
  beforeEach(async () => {
    answer = { status: 200, body: "{}" };
    collector = await startService(() => answer);
    env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
  });
  afterEach(() => collector.close());
  const spansIn = (request: ExportRequest) =>
    request.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));

  it.each([
    [{}, "application/x-protobuf"],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" }, "application/json"],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_EXPORTER_OTLP_COMPRESSION: "gzip" }, "application/json"],
  ])("is sent in the encoding that %j selects", async (variables, type) => {
    Object.assign(env, variables, {
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20abc,x-team=core",
      OTEL_SERVICE_NAME: "agents",
      OTEL_RESOURCE_ATTRIBUTES: "team=core",
    });
    const { code, stderr } = await run("otlp", "latest");
    expect([code, stderr]).toEqual([0, ""]);
    const requests = collector.requests.map(({ path, headers, body }) => {
      expect([path, headers["content-type"], headers.authorization, headers["x-team"]]).toEqual([
        "/v1/traces",
        type,
        "Basic abc",
        "core",
      ]);
      const plain = headers["content-encoding"] === "gzip" ? gunzipSync(body) : body;
      return (type === "application/json" ? JSON.parse(plain.toString()) : readRequest(plain)) as ExportRequest;
    });
    const spans = requests.flatMap(spansIn);
    expect(spans.filter(({ name }) => name.startsWith("chat ")).length).toBe(await calls());
    expect(requests[0]?.resourceSpans[0]?.resource.attributes).toEqual([
      { key: "service.name", value: { stringValue: "agents" } },
      { key: "team", value: { stringValue: "core" } },
    ]);
    const before = collector.requests.length;
    expect((await run("otlp", "latest")).stdout).toContain(" 0 of them new");
    expect(collector.requests.length).toBe(before);
  });

  it.each([
    ["JSON", '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too long"}}'],
    ["protobuf", Buffer.concat([Buffer.from([0x0a, 12, 0x08, 2, 0x12, 8]), Buffer.from("too long")])],
  ])("reports what the collector rejected, and does not send it again (%s)", async (_, body) => {
    answer = { status: 200, body };
    const { code, stderr } = await run("otlp", "latest");
    // Once for each of two turns.
    expect([code, stderr]).toEqual([0, "rejected after delivery: 2 spans: too long\n".repeat(2)]);
    expect((await retinue(home, ["outbox"], env)).stdout).toContain("rejected after delivery: 2 spans: too long");
  });

  it("gives up on a collector that does not respond, and retries", async () => {
    env.OTEL_EXPORTER_OTLP_TIMEOUT = "3000";
    collector.faults.push({ is: "silence" });
    const { code } = await run("otlp", "latest");
    const [first, again] = collector.requests;
    expect([code, again?.body.equals(first?.body ?? Buffer.alloc(0))]).toEqual([0, true]);
    expect((await retinue(home, ["outbox", "--json"], env)).stdout).toMatch(/"waiting": 0/);
  });

  it("does not support gRPC, and lists the supported protocols", async () => {
    env.OTEL_EXPORTER_OTLP_PROTOCOL = "grpc";
    const { code, stderr } = await run("otlp", "latest");
    expect([code, stderr]).toEqual([2, expect.stringContaining("write http/protobuf or http/json")]);
  });
});
