/** The HTTP API: paths, queries, headers and bodies, sent to a running server. */
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import type { Random } from "../../../scripts/bench/random.ts";
import type { AgentTree } from "../../../src/core/views/agent.ts";
import { recordedHome } from "../../support/fixtures.ts";
import { type ApiDocument, faultsIn } from "../../support/openapi.ts";
import { startServer, type TestServer } from "../../support/server.ts";
import { mutated, mutatedJson, noise, token, words } from "../mutate.ts";
import { require, type Target } from "../target.ts";

const QUERIES = [
  "limit",
  "cursor",
  "since",
  "status",
  "provider",
  "project",
  "running",
  "after",
  "from",
  "subtree",
  "by",
  "key",
  "q",
  "threads",
  "tree",
  "events",
  "log",
  "cards",
  "token",
];
const VALUES = [
  "1",
  "0",
  "-1",
  "1e9",
  "999999999999",
  "true",
  "false",
  "2h",
  "2026-11-15",
  "claude",
  "completed",
  "latest",
  "WzEsImEiXQ",
  "model",
  "day",
];
const BODIES: readonly unknown[] = [
  { child: "latest", parent: "latest" },
  { path: "/nowhere/x.jsonl" },
  { title: "x", threads: ["latest"], stage: "queued" },
  { provider: "opencode", url: "file:///etc/passwd" },
  {
    resourceSpans: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "claude-code" } }] },
        scopeSpans: [{ spans: [{}] }],
      },
    ],
  },
  {
    resourceLogs: [
      {
        resource: { attributes: [{ key: "service.name", value: { stringValue: "claude-code" } }] },
        scopeLogs: [{ logRecords: [{}] }],
      },
    ],
  },
];
const METHODS = ["GET", "GET", "GET", "POST", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS"];
const ERRORS = /^\{"error":\{"code":"\w+","message":"/;

/** An input is a request: method and path, headers, an empty line, the body. Host and length are added. */
export const httpTarget: Target = {
  name: "http",
  weight: 0.5,
  async open() {
    const server = await startServer(recordedHome("claude", "c3-nested-parallel").home);
    const document = await server.json<ApiDocument>("/api/openapi.json");
    const { items } = await server.json<{ items: AgentTree[] }>("/api/threads");
    const uris = items.map(({ uri }) => uri);
    // A demo would start another server.
    const routes = [
      ...Object.keys(document.paths).filter((route) => route !== "/api/demo"),
      "/",
      "/v1/metrics",
      "/api/nothing",
      "/assets/x.js",
    ];
    const patterns = Object.keys(document.paths).map((route) => ({
      route,
      pattern: new RegExp(`^${route.replace(/\{\w+\}/g, "[^/]+")}$`),
    }));
    return {
      generate: (random) => request(random, routes, uris),
      check: (input) => checkAnswer(server, document, patterns, input),
      close: () => server.close(),
    };
  },
};

function request(random: Random, routes: readonly string[], uris: readonly string[]): Buffer {
  const id = () =>
    random.chance(0.5)
      ? encodeURIComponent(random.of(uris))
      : random.chance(0.5)
        ? encodeURIComponent(words(random, uris, 2))
        : words(random, ["%", "%2F", "latest"], 3);
  const path = random.of(routes).replace(/\{\w+\}/g, id);
  const query = Array.from(
    { length: random.below(4) },
    () =>
      `${random.chance(0.95) ? random.of(QUERIES) : encodeURIComponent(token(random))}=${random.chance(0.6) ? random.of(VALUES) : encodeURIComponent(words(random, uris, 3))}`,
  );
  const target = `${path}${query.length > 0 ? "?" : ""}${query.join("&")}`;
  const json = random.chance(0.7)
    ? mutatedJson(random.of(BODIES), random)
    : mutated(Buffer.from(JSON.stringify(random.of(BODIES))), random);
  const body = random.chance(0.05)
    ? noise(random)
    : random.chance(0.02)
      ? Buffer.from("[".repeat(random.below(60_000)))
      : json;
  const isPacked = random.chance(0.05);
  const type = random.chance(0.85)
    ? "application/json"
    : random.of(["application/x-protobuf", "text/plain", "", "application/json; charset=utf-16"]);
  const headers = [
    `Content-Type: ${type}`,
    ...(isPacked ? ["Content-Encoding: gzip"] : []),
    ...(random.chance(0.1) ? [`Last-Event-ID: ${random.of(VALUES)}-${random.of(VALUES)}`] : []),
  ];
  const head = Buffer.from(`${random.of(METHODS)} ${target}\n${headers.join("\n")}\n\n`);
  return random.chance(0.05)
    ? mutated(Buffer.concat([head, body]), random)
    : Buffer.concat([head, isPacked ? gzipSync(body) : body]);
}

async function checkAnswer(
  server: TestServer,
  document: ApiDocument,
  patterns: readonly { route: string; pattern: RegExp }[],
  input: Buffer,
): Promise<void> {
  const end = input.indexOf("\n\n");
  const [first = "", ...headers] = input
    .subarray(0, end < 0 ? input.length : end)
    .toString("latin1")
    .split("\n");
  const body = end < 0 ? Buffer.alloc(0) : input.subarray(end + 2);
  const [method = "", path = ""] = first.split(" ");
  // Neither start a demo nor follow another server.
  if (
    /demo|relays/i.test(decoded(path)) &&
    method === "POST" &&
    (/demo/i.test(decoded(path)) || /http/i.test(body.toString()))
  )
    return;
  const sent = [
    first.includes(" HTTP/") ? first : `${first} HTTP/1.1`,
    `Host: ${new URL(server.url).host}`,
    "Connection: close",
    ...headers,
    `Content-Length: ${body.length}`,
  ];
  const { status, type, text } = await answerTo(
    server,
    Buffer.concat([Buffer.from(`${sent.join("\r\n")}\r\n\r\n`, "latin1"), body]),
  );
  require(status >= 200 && status < 500, "an answer is a success or names the client's mistake", {
    first,
    status,
    text: text.slice(0, 400),
  });
  if (!type.startsWith("application/json") || method === "HEAD") return;
  if (status >= 400)
    return require(ERRORS.test(text), "an error has its usual shape", { first, text: text.slice(0, 400) });
  const route = patterns.find(({ pattern }) => pattern.test(path.split("?")[0] ?? ""))?.route;
  if (route === undefined || document.paths[route]?.[method.toLowerCase()] === undefined) return;
  const faults = faultsIn(document, route, method, status, JSON.parse(text));
  require(faults === null, "an answer is as the document describes it", { first, faults });
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // A lone %.
    return path;
  }
}

/** A stream is read up to its first bytes. */
async function answerTo(server: TestServer, bytes: Buffer): Promise<{ status: number; type: string; text: string }> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    if (chunks[0]?.includes("text/event-stream") === true) socket.destroy();
  });
  // A server that rejects a body may close the connection before all of it was sent; its response counts.
  socket.on("error", () => {});
  socket.write(bytes);
  await new Promise((resolve) => socket.once("close", resolve));
  const all = Buffer.concat(chunks).toString();
  const [head = "", ...rest] = all.split("\r\n\r\n");
  const text = rest.join("\r\n\r\n");
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
    type: /^content-type: (.*)$/im.exec(head)?.[1]?.trim() ?? "",
    text: /^transfer-encoding: chunked$/im.test(head) ? unchunked(text) : text,
  };
}

function unchunked(text: string): string {
  const bytes = Buffer.from(text);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.subarray(at, end).toString(), 16);
    if (end < 0 || !(size > 0)) break;
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
  return Buffer.concat(parts).toString();
}
