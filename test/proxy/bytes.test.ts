/** The proxy forwards the same bytes in both directions, however they are split, packed or interrupted. */
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestOptions, request } from "node:http";
import { type AddressInfo, connect, createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../support/server.ts";
import { ownThread, startProxied } from "./proxied.ts";
import { type Asked, startUpstream } from "./upstream.ts";

interface Received {
  readonly status: number;
  readonly message: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
  readonly trailers: readonly string[];
  readonly isWhole: boolean;
}

function ask(url: string, options: RequestOptions, body: readonly (string | Buffer)[] = []): Promise<Received> {
  return new Promise((resolve, reject) => {
    const asking = request(url, options, (response) => receive(response).then(resolve, reject));
    asking.on("error", reject);
    for (const chunk of body) asking.write(chunk);
    asking.end();
  });
}

function receive(response: IncomingMessage): Promise<Received> {
  const chunks: Buffer[] = [];
  response.on("data", (chunk: Buffer) => chunks.push(chunk));
  response.on("error", () => {});
  return new Promise((resolve) =>
    response.on("close", () =>
      resolve({
        status: response.statusCode ?? 0,
        message: response.statusMessage ?? "",
        headers: response.rawHeaders,
        body: Buffer.concat(chunks),
        trailers: response.rawTrailers,
        isWhole: response.complete,
      }),
    ),
  );
}

async function between(respond: (asked: Asked) => void, options: Parameters<typeof startProxied>[1] = {}) {
  const upstream = await startUpstream(respond);
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(`${upstream.url}/gateway/base`, { recorder: ownThread, ...options });
  onTestFinished(() => proxied.dispose());
  return { upstream, proxied };
}

const POST = { method: "POST" };

it("forwards method, path, query, headers and body unchanged, below the upstream's own path", async () => {
  const { upstream, proxied } = await between(({ outgoing }) => outgoing.end());
  const body = randomBytes(300_000);
  const headers = [
    "Host",
    new URL(proxied.url).host,
    "X-Api-Key",
    "sk-1",
    "X-MiXeD-Case",
    "A, b",
    "X-Twice",
    "1",
    "X-Twice",
    "2",
    "Content-Length",
    String(body.length),
  ];
  await ask(`${proxied.url}/v1/messages?beta=true&x=%2F%20`, { ...POST, headers: headers as never }, [
    body.subarray(0, 7),
    body.subarray(7),
  ]);
  const [asked] = upstream.asked;
  expect(asked?.incoming.method).toBe("POST");
  expect(asked?.incoming.url).toBe("/gateway/base/v1/messages?beta=true&x=%2F%20");
  expect(asked?.body.equals(body)).toBe(true);
  expect(asked?.incoming.rawHeaders.slice(2, 12)).toEqual(headers.slice(2));
  expect(asked?.incoming.headers.host).toBe(new URL(upstream.url).host);
});

it("a request in Claude Code's auto mode, and its answer, are the same as without the proxy; its context is not recorded", async () => {
  const events = [
    { type: "message_start", message: { id: "msg_1", model: "claude-opus-5-5", usage: { input_tokens: 3 } } },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "toolu_1", name: "Bash", input: {} },
    },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use" },
      safeguard_results: [
        {
          type: "dangerous_tool_use",
          status: { type: "available", tool_uses: { toolu_1: { type: "evaluated", outcome: "not_flagged" } } },
        },
      ],
    },
    { type: "message_stop" },
  ].map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`);
  const { upstream, proxied } = await between(({ outgoing }) => {
    outgoing.sendDate = false;
    outgoing.writeHead(200, ["Content-Type", "text/event-stream", "Request-Id", "req_1"] as never);
    outgoing.end(events.join(""));
  });
  const secret = ["ghp", "a1B2".repeat(9)].join("_");
  const context = {
    v: 1,
    permission_mode: "auto",
    home_dir: "/home/private-name",
    rules: { allow: ["Bash(deploy-secretly)"], deny: [], ask: [] },
    user_identity: "person@example.org",
    git_state: { visibility: { remotes: [`https://${secret}@example.org/x.git`] } },
  };
  // Shape of 2.1.327.
  const body = JSON.stringify({
    model: "claude-opus-5-5",
    stream: true,
    safeguards: [{ type: "dangerous_tool_use", classifier_context: context }],
    messages: [{ role: "user", content: "Begin." }],
  });
  const headers = [
    ["Accept", "application/json"],
    ["anthropic-beta", "claude-code-20250219,dangerous-tool-use-2026-09-03,afk-mode-2026-01-31"],
    ["X-Claude-Code-Session-Id", "11111111-2222-4333-8444-555555555555"],
    ["Content-Type", "application/json"],
    ["Content-Length", String(body.length)],
  ].flat();
  const answers = [];
  for (const url of [`${upstream.url}/gateway/base`, proxied.url])
    answers.push(
      await ask(
        `${url}/v1/messages?beta=true`,
        { ...POST, headers: ["Host", new URL(url).host, ...headers] as never },
        [body],
      ),
    );
  expect(answers[0]?.status).toBe(200);
  const endToEnd = (raw: readonly string[]) =>
    raw.flatMap((name, i) =>
      i % 2 === 0 && !/^(?:host|connection|keep-alive)$/i.test(name) ? [[name, raw[i + 1]]] : [],
    );
  const [answer, passedAnswer] = answers.map((one) => ({ ...one, headers: endToEnd(one.headers) }));
  expect(passedAnswer).toEqual(answer);
  const [direct, passed] = upstream.asked.map(({ incoming, body: received }) => ({
    url: incoming.url,
    headers: endToEnd(incoming.rawHeaders),
    body: received.toString(),
  }));
  expect(passed).toEqual(direct);
  expect(passed?.body).toBe(body);
  await proxied.stop();
  const recorded = readdirSync(proxied.folder)
    .map((name) => readFileSync(join(proxied.folder, name), "utf8"))
    .join("");
  expect(recorded).toContain('"safeguards":[{"type":"dangerous_tool_use"}]');
  expect(recorded).not.toMatch(/private-name|deploy-secretly|person@example|ghp_/);
});

it.each([
  ["line feeds", 'event: a\ndata: {"type":"ping"}\n\n'],
  ["carriage returns", "event: a\r\ndata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n"],
  [
    "comments, retry and unknown events",
    ': hello\n\nretry: 3000\nid: 7\nevent: never_heard_of\ndata: {"x":"\\u2028 ü"}\n\n:\n\n',
  ],
  ["malformed events", 'data: {"type": "content_block_delta", \n\ndata:\n\nevent\n\ndata: [DONE]\n\n'],
])("a stream with %s, split at every byte", async (_, text) => {
  const bytes = Buffer.from(text);
  const { proxied } = await between(async ({ outgoing }) => {
    outgoing.writeHead(200, "Fine", [
      "Content-Type",
      "text/event-stream",
      "Request-Id",
      "req_1",
      "Set-Cookie",
      "a=1",
      "Set-Cookie",
      "b=2",
    ] as never);
    for (const byte of bytes) {
      outgoing.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    outgoing.end();
  });
  const { status, message, headers, body, isWhole } = await ask(`${proxied.url}/v1/messages`, POST, ["{}"]);
  expect([status, message, isWhole]).toEqual([200, "Fine", true]);
  expect(headers.slice(0, 8)).toEqual([
    "Content-Type",
    "text/event-stream",
    "Request-Id",
    "req_1",
    "Set-Cookie",
    "a=1",
    "Set-Cookie",
    "b=2",
  ]);
  expect(body.equals(bytes)).toBe(true);
});

it("forwards packed responses and trailers unchanged", async () => {
  const packed = gzipSync(JSON.stringify({ type: "message", id: "msg_1", model: "m", content: [], usage: {} }));
  const { proxied } = await between(({ outgoing }) => {
    outgoing.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip", trailer: "X-Sum" });
    outgoing.write(packed.subarray(0, 5));
    outgoing.write(packed.subarray(5));
    outgoing.addTrailers({ "X-Sum": "42" });
    outgoing.end();
  });
  const { headers, body, trailers } = await ask(`${proxied.url}/v1/messages`, POST, ["{}"]);
  expect(headers).toContain("gzip");
  expect(body.equals(packed)).toBe(true);
  expect(trailers).toEqual(["X-Sum", "42"]);
});

it.each([500, 529, 401, 404, 204, 304])("forwards status %d", async (status) => {
  const { proxied } = await between(({ outgoing }) => {
    outgoing.writeHead(status, { "retry-after": "7" });
    outgoing.end();
  });
  const received = await ask(`${proxied.url}/v1/anything`, { method: "GET" });
  expect([received.status, received.headers.includes("retry-after")]).toEqual([status, true]);
});

it("forwards the chunks of one read together, unchanged", async () => {
  const [count, events] = [2_000, Buffer.from('data: {"type":"ping"}\n\n'.repeat(4))];
  const { proxied } = await between(({ outgoing }) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    for (let i = 0; i < count; i += 1) outgoing.write(events);
    outgoing.end();
  });
  const { host, hostname, port } = new URL(proxied.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    ["POST /v1/messages HTTP/1.1", `host: ${host}`, "content-length: 2", "connection: close", "", "{}"].join("\r\n"),
  );
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  const [head = "", ...rest] = Buffer.concat(parts).toString().split("\r\n\r\n");
  expect(head).toMatch(/^HTTP\/1.1 200 OK/);
  const chunks = rest
    .join("\r\n\r\n")
    .split(/(?:^|\r\n)[0-9a-f]+\r\n/)
    .slice(1);
  expect(chunks.join("").trimEnd()).toBe(events.toString().repeat(count).trimEnd());
  // The upstream wrote 2,000 chunks. Each read of them has at most two, and the last chunk is empty.
  expect(chunks.length).toBeLessThan(count / 4);
});

it("ends the response where the upstream does, even in the middle of gzip data", async () => {
  const packed = gzipSync(randomBytes(100_000));
  const { proxied } = await between(({ outgoing }) => {
    outgoing.writeHead(200, { "content-encoding": "gzip", "content-length": packed.length });
    outgoing.write(packed.subarray(0, 50_000), () => outgoing.destroy());
  });
  const { body, isWhole } = await ask(`${proxied.url}/v1/messages`, POST, ["{}"]);
  expect(isWhole).toBe(false);
  expect(packed.subarray(0, body.length).equals(body)).toBe(true);
});

it("aborts the upstream request when the client is gone", async () => {
  let isGone = false;
  const { upstream, proxied } = await between(({ incoming, outgoing }) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write("data: 1\n\n");
    incoming.socket.on("close", () => {
      isGone = true;
    });
  });
  const asking = request(`${proxied.url}/v1/messages`, POST);
  asking.on("error", () => {});
  asking.on("response", () => asking.destroy());
  asking.end("{}");
  await until(() => isGone);
  expect(upstream.asked).toHaveLength(1);
});

it("applies back pressure to the upstream when the client does not read", async () => {
  const [chunk, all] = [Buffer.alloc(1 << 20), 512 << 20];
  let [sent, waits] = [0, false];
  const { proxied } = await between(({ incoming, outgoing }) => {
    outgoing.writeHead(200);
    if (incoming.method === "GET") return outgoing.end();
    const more = () => {
      while (sent < all) {
        sent += chunk.length;
        waits = !outgoing.write(chunk);
        if (waits) return outgoing.once("drain", more);
      }
      return outgoing.end();
    };
    return more();
  });
  const asking = request(`${proxied.url}/v1/messages`, POST);
  asking.on("error", () => {});
  const response = new Promise<IncomingMessage>((resolve) => asking.on("response", resolve));
  asking.end("{}");
  (await response).pause();
  // Once all buffers are full, nothing more is sent while the proxy forwards other requests.
  for (let before = -1; before !== sent || !waits; ) {
    before = sent;
    for (let n = 0; n < 50; n += 1) await ask(`${proxied.url}/v1/models`, { method: "GET" });
  }
  expect(sent).toBeLessThan(all / 2);
  asking.destroy();
});

it("reports an unreachable or silent upstream in the API's format", async () => {
  const gone = createServer();
  await new Promise<void>((resolve) => gone.listen(0, "127.0.0.1", resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const unreachable = await startProxied(`http://127.0.0.1:${port}`);
  onTestFinished(() => unreachable.dispose());
  const refused = await ask(`${unreachable.url}/v1/messages`, POST, ["{}"]);
  expect([refused.status, JSON.parse(refused.body.toString()).error.type]).toEqual([502, "api_error"]);

  const { proxied } = await between(() => {}, { silenceMs: 50 });
  const silent = await ask(`${proxied.url}/v1/messages`, POST, ["{}"]);
  expect([silent.status, JSON.parse(silent.body.toString()).error.type]).toEqual([504, "timeout_error"]);
});

it("retries once if the upstream closes an idle connection at the moment it is reused", async () => {
  let requests = 0;
  const upstream = createSocketServer((socket) => {
    let isUsed = false;
    socket.on("data", () => {
      requests += 1;
      if (isUsed) socket.resetAndDestroy();
      else socket.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine");
      isUsed = true;
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void upstream.close());
  const proxied = await startProxied(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  onTestFinished(() => proxied.dispose());
  const headers = { "content-length": 2 };
  for (const _ of [1, 2, 3])
    expect((await ask(`${proxied.url}/v1/messages`, { ...POST, headers }, ["{}"])).body.toString()).toBe("fine");
  expect(requests).toBeGreaterThan(3);
});

it("connects only to its upstream", async () => {
  const { upstream, proxied } = await between(({ outgoing }) => outgoing.end("ours"));
  const { hostname, port } = new URL(proxied.url);
  const raw = (text: string) =>
    new Promise<string>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(text));
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
        socket.end();
      });
      socket.on("close", () => resolve(received));
    });
  expect(await raw("GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n")).toMatch(/^HTTP\/1.1 403/);
  expect(await raw(`GET http://example.org/ HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`)).toMatch(/^HTTP\/1.1 400/);
  expect(await raw("CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n")).toMatch(/^HTTP\/1.1 405/);
  expect(upstream.asked).toHaveLength(0);
});

it("uses an HTTP proxy if one is configured", async () => {
  const upstream = await startUpstream(({ outgoing }) => outgoing.end("far away"));
  onTestFinished(() => upstream.close());
  const lines: string[] = [];
  const way = createSocketServer((socket) => {
    socket.once("data", (head) => {
      lines.push(head.toString().split("\r\n")[0] ?? "", /proxy-authorization: .*/i.exec(head.toString())?.[0] ?? "");
      const far = connect(Number(new URL(upstream.url).port), "127.0.0.1", () =>
        far.write(head.toString().replace(/ http:\/\/[^/]+/, " ")),
      );
      far.pipe(socket);
      socket.pipe(far);
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => way.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void way.close());
  const proxied = await startProxied(upstream.url, {
    via: new URL(`http://me:word@127.0.0.1:${(way.address() as AddressInfo).port}`),
  });
  onTestFinished(() => proxied.dispose());
  expect((await ask(`${proxied.url}/v1/models`, { method: "GET" })).body.toString()).toBe("far away");
  expect(lines).toEqual([`GET ${upstream.url}/v1/models HTTP/1.1`, "Proxy-Authorization: Basic bWU6d29yZA=="]);
});

it("forwards 200 concurrent streams, and bodies of 32 MB", async () => {
  const big = Buffer.alloc(32 << 20, "x");
  const { upstream, proxied } = await between(({ body, outgoing }) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.end(`data: ${body.length}\n\n`);
  });
  const many = await Promise.all(
    Array.from({ length: 200 }, (_, i) => ask(`${proxied.url}/v1/messages?n=${i}`, POST, [`{"n":${i}}`])),
  );
  expect(many.every(({ status, isWhole }) => status === 200 && isWhole)).toBe(true);
  const { body } = await ask(`${proxied.url}/v1/messages`, { ...POST, headers: { "content-length": big.length } }, [
    big,
  ]);
  expect(body.toString()).toBe(`data: ${big.length}\n\n`);
  expect(upstream.asked.at(-1)?.body.equals(big)).toBe(true);
});
