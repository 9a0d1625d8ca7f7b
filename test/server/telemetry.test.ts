/** OTLP over HTTP: an agent's telemetry as JSON and as protobuf, from well-behaved and from hostile senders. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { listPrice } from "../../src/app/query/prices.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { FIXTURES, recordedHome } from "../support/fixtures.ts";
import { startServer, type TestServer, until } from "../support/server.ts";

const requests = readFileSync(join(FIXTURES, "claude/r-otel/recordings/claude/otlp/2026-11-15.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => (JSON.parse(line) as { raw: Record<string, unknown> }).raw);
const [THREAD] = recordedHome("claude", "r-otel").threads;

let server: TestServer;
beforeAll(async () => {
  server = await startServer(null);
});
afterAll(() => server.close());

const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  server.get(path, { method: "POST", body, headers });
const JSON_TYPE = { "Content-Type": "application/json" };

describe("telemetry", () => {
  it("is stored unchanged, and alone gives the tree with every call and token", async () => {
    for (const request of requests) {
      const path = "resourceSpans" in request ? "/v1/traces" : "/v1/logs";
      const packed = new Uint8Array(gzipSync(JSON.stringify(request)));
      const answer = await post(path, packed, { ...JSON_TYPE, "Content-Encoding": "gzip" });
      expect([answer.status, await answer.json()]).toEqual([200, {}]);
    }
    interface Node {
      agentId: string | null;
      usage: { own: { calls: number; outputTokens: number; cacheWrite1hTokens: number } };
      children: Node[];
    }
    const everyone = (node: Node): Node[] => [node, ...(node.children ?? []).flatMap(everyone)];
    const tree = () => server.json<Node>(`/api/agents/${encodeURIComponent(`claude://${THREAD?.root}`)}`);
    const numbers = async () =>
      everyone(await tree()).map(({ agentId, usage: { own } }) => [
        agentId,
        own.calls,
        own.outputTokens,
        own.cacheWrite1hTokens,
      ]);
    const truth = THREAD?.agents.map(({ agentId, calls, outputTokens, cacheWrite1hTokens }) => [
      agentId,
      calls,
      outputTokens,
      cacheWrite1hTokens,
    ]);
    const listed = (rows: unknown[][] | undefined) =>
      rows
        ?.map((row) => row.join(" "))
        .sort()
        .join("\n");
    await until(
      async () => (await tree()).usage !== undefined && listed(await numbers()) === listed(truth),
      () => truth,
    );
    const folder = join(server.env.RETINUE_HOME ?? "", "recordings/claude/otlp");
    const kept = readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
    expect(kept.map((line) => (JSON.parse(line) as { raw: unknown }).raw)).toEqual(requests);
  });

  it("marks responses in fast mode, which have their own price", async () => {
    const recording = readFileSync(join(FIXTURES, "claude/r-otel/recordings/claude/otlp/2026-11-15.jsonl"), "utf8");
    const costOf = async (speed: string) => {
      const home = mkdtempSync(join(tmpdir(), "retinue-telemetry-"));
      onTestFinished(() => rmSync(home, { recursive: true, force: true }));
      const folder = join(home, "retinue/recordings/claude/otlp");
      mkdirSync(folder, { recursive: true });
      writeFileSync(
        join(folder, "2026-11-15.jsonl"),
        recording.replaceAll(
          '"key":"speed","value":{"stringValue":"normal"}',
          `"key":"speed","value":{"stringValue":"${speed}"}`,
        ),
      );
      const { forest } = await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "retinue") } });
      return forest.roots.map((key) => treeOf(forest, key, listPrice).usage.subtree.costUsd ?? Number.NaN);
    };
    const normal = await costOf("normal");
    expect(normal).toHaveLength(1);
    expect(await costOf("fast")).toEqual(normal.map((cost) => expect.closeTo(2 * cost, 9) as number));
  });

  it("of unknown programs is rejected as a partial success", async () => {
    const foreign = {
      resourceSpans: [
        { resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] }, scopeSpans: [] },
      ],
    };
    expect(await (await post("/v1/traces", JSON.stringify(foreign), JSON_TYPE)).json()).toMatchObject({
      partialSuccess: { rejectedSpans: 1 },
    });
  });

  it("of excessive size is refused, and other requests are not affected", async () => {
    const kept = () => readdirSync(join(server.env.RETINUE_HOME ?? "", "recordings/claude/otlp")).length;
    const before = kept();
    const gzip = { "Content-Encoding": "gzip" };
    const protobuf = { "Content-Type": "application/x-protobuf", ...gzip };
    const deep = `{"resourceSpans":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
    const packed = (bytes: Uint8Array | string) => new Uint8Array(gzipSync(bytes));
    // Two bytes per empty list entry.
    const entries = (count: number) => packed(Buffer.alloc(2 * count, Uint8Array.of(0x0a, 0)));
    for (const [body, headers, status, words] of [
      [deep, JSON_TYPE, 400, /levels deep/],
      [packed(deep), { ...JSON_TYPE, ...gzip }, 400, /levels deep/],
      [packed(Buffer.alloc(40 << 20, "[")), { ...JSON_TYPE, ...gzip }, 413, /bytes when unpacked/],
      [packed(Buffer.alloc(40 << 20)), protobuf, 413, /bytes when unpacked/],
      [entries(500_001), protobuf, 413, /fields/],
    ] as const) {
      const answer = await post("/v1/traces", body, headers);
      const { error } = (await answer.json()) as { error: { message: string } };
      expect([answer.status, error.message]).toEqual([status, expect.stringMatching(words)]);
    }
    expect((await post("/v1/traces", entries(50_000), protobuf)).status).toBe(200);
    expect(kept()).toBe(before);
    expect(server.messages).toEqual([]);
    expect((await server.get("/api/health")).status).toBe(200);
  });

  it.each([
    ["invalid JSON", "{", JSON_TYPE, 400],
    ["invalid protobuf", "{}", { "Content-Type": "application/x-protobuf" }, 400],
    ["not compressed as declared", "{}", { ...JSON_TYPE, "Content-Encoding": "gzip" }, 400],
    ["sent by a web page", "{}", { ...JSON_TYPE, Origin: "http://evil.example" }, 403],
    ["empty protobuf", "", { "Content-Type": "application/x-protobuf" }, 200],
  ])("that is %s gets the right status code", async (_, body, headers, status) => {
    const answer = await post("/v1/logs", body, headers);
    expect(answer.status).toBe(status);
  });
});
