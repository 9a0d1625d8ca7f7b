/** What is recorded, when, and what never is; and that failures of recording do not affect agents. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { keepWithin } from "../../src/app/proxy/retention.ts";
import { threadOf } from "../../src/app/proxy/traffic-recorder.ts";
import { Requests } from "../../src/app/query/requests.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { MAX_RECORD } from "../../src/core/tools/limits.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { needsPosix } from "../support/needs.ts";
import { until } from "../support/server.ts";
import { ownThread, type Proxied, startProxied } from "./proxied.ts";
import { type Asked, startUpstream } from "./upstream.ts";
import { replay, wireOf } from "./wires.ts";

const SESSION = "11111111-2222-4333-8444-555555555555";
const NAMED = { "x-claude-code-session-id": SESSION, "content-type": "application/json" };
const body = (text: string) =>
  JSON.stringify({
    model: "claude-opus-5-5",
    stream: true,
    messages: [{ role: "user", content: text }],
    tools: [{ name: "Bash" }],
  });
const event = (data: { type: string; [more: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const START = event({
  type: "message_start",
  message: {
    id: "msg_01aaaaaaaaaaaaaaaaaaaaaa",
    model: "claude-opus-5-5",
    usage: { input_tokens: 3, output_tokens: 1 },
  },
});
const CALL = [
  event({
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", id: "toolu_01aaaaaaaaaaaaaaaaaa", name: "Agent", input: {} },
  }),
  event({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json: '{"prompt":"Look into it","descr' },
  }),
  event({
    type: "content_block_delta",
    index: 0,
    delta: { type: "input_json_delta", partial_json: 'iption":"Look"}' },
  }),
  event({ type: "content_block_stop", index: 0 }),
].join("");
const END =
  event({
    type: "message_delta",
    delta: { stop_reason: "tool_use" },
    usage: { output_tokens: 9, cache_read_input_tokens: 5, server_tool_use: { web_search_requests: 1 } },
  }) + event({ type: "message_stop" });

async function started(respond: (asked: Asked) => void, options: Parameters<typeof startProxied>[1] = {}) {
  const upstream = await startUpstream(respond);
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url, { recorder: ownThread, ...options });
  onTestFinished(() => proxied.dispose());
  return proxied;
}

const recorded = ({ folder }: Proxied) =>
  (existsSync(folder) ? readdirSync(folder) : []).map((name) => readFileSync(join(folder, name), "utf8")).join("");
const requestsIn = async (proxied: Proxied) => {
  const { library } = await proxied.read();
  return new Requests(library).list({ limit: 99 }).items.toReversed();
};

function ask(
  proxied: Pick<Proxied, "url">,
  text: string | Buffer,
  headers: Record<string, string> = NAMED,
  path = "/v1/messages?beta=true",
) {
  const asking = request(`${proxied.url}${path}`, { method: "POST", headers });
  const begun = Promise.withResolvers<void>();
  const done = new Promise<string>((resolve) => {
    asking.on("response", (response) => {
      let received = "";
      response.on("data", (chunk) => {
        begun.resolve();
        received += chunk;
      });
      response.on("error", () => {});
      response.on("close", () => resolve(received));
    });
    asking.on("error", () => resolve("gone"));
  });
  asking.end(text);
  return { begun: begun.promise, done, abort: () => asking.destroy() };
}

it("never stores credentials", async () => {
  const proxied = await started(({ outgoing }) => {
    outgoing.writeHead(200, {
      "content-type": "application/json",
      "set-cookie": "session=geheim-5",
      "x-oauth-token": "geheim-6",
    });
    outgoing.end("{}");
  });
  const secrets = {
    authorization: "Bearer geheim-1",
    "x-api-key": "geheim-2",
    cookie: "a=geheim-3",
    "proxy-authorization": "Basic geheim-4",
  };
  await ask(proxied, body("Hello"), { ...NAMED, ...secrets }).done;
  await proxied.stop();
  expect(recorded(proxied)).toContain("Hello");
  expect(recorded(proxied)).not.toContain("geheim");
  for (const name of readdirSync(proxied.folder)) expect(statSync(join(proxied.folder, name)).mode & 0o077).toBe(0);
});

it("accepts requests only when its recorder is loaded, so that a kill right after loses as little as a later one", async () => {
  let isLoaded = false;
  const proxied = await started(({ outgoing }) => outgoing.end("{}"), {
    recorder: (start) => {
      const thread = ownThread(start);
      thread.on("message", ({ is }) => {
        isLoaded ||= is === "ready";
      });
      return thread;
    },
  });
  expect(isLoaded).toBe(true);
  await ask(proxied, body("Hello")).done;
  await until(() => recorded(proxied).includes('"is":"ended"'));
});

it("forwards without a recorder if that fails to start, and says so once", async () => {
  const broken = threadOf(new URL("data:text/javascript,throw new Error('no memory left')"));
  const proxied = await started(({ outgoing }) => outgoing.end("{}"), { recorder: broken });
  expect(await ask(proxied, body("Hello")).done).toBe("{}");
  expect(proxied.messages).toEqual([
    "recording problem (agents are not affected): traffic is not recorded: no memory left",
  ]);
});

it("a spawn is known as soon as its block ends, before the response does, and the usage is the final one", async () => {
  let finish = () => {};
  const proxied = await started(({ outgoing }) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write(START + CALL);
    finish = () => outgoing.end(END);
  });
  const { done } = ask(proxied, body("Begin"));
  await until(() => recorded(proxied).includes("Look into it"));
  const [running] = await requestsIn(proxied);
  expect(running).toMatchObject({
    status: "running",
    task_tool_invocation: [
      { name: "Agent", prompt: "Look into it", description: "Look", tool_use_id: "toolu_01aaaaaaaaaaaaaaaaaa" },
    ],
  });
  finish();
  await done;
  await proxied.stop();
  const [ended] = await requestsIn(proxied);
  expect(ended).toMatchObject({
    status: "completed",
    stop_reason: "tool_use",
    usage: { inputTokens: 3, outputTokens: 9, cacheReadTokens: 5 },
  });
  expect(ended?.first_token_ms).not.toBeNull();
  expect(recorded(proxied)).toContain("web_search_requests");
});

it("records failed, interrupted and aborted requests, each as such", async () => {
  const packed = gzipSync(START + CALL + END);
  let cutOff = () => {};
  const proxied = await started(({ outgoing, body: asked }) => {
    const what = asked.toString();
    if (what.includes("overloaded")) {
      outgoing.writeHead(529, { "content-type": "application/json" });
      outgoing.end(JSON.stringify({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }));
    } else if (what.includes("cut gzip")) {
      outgoing.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
      outgoing.write(packed.subarray(0, packed.length - 40));
      cutOff = () => outgoing.destroy();
    } else if (what.includes("whole gzip")) {
      outgoing.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
      outgoing.end(packed);
    } else if (what.includes("polite end")) {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end(START);
    } else if (what.includes("malformed")) {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end(`data: {"type": "content\n\n${START}data: nonsense\n\n${CALL}${END}`);
    } else if (what.includes("give up")) {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.write(START);
    }
  });
  for (const text of ["overloaded", "cut gzip", "whole gzip", "polite end", "malformed"]) {
    const { begun, done } = ask(proxied, body(text));
    await begun;
    if (text === "cut gzip") cutOff();
    await done;
  }
  const { abort, done } = ask(proxied, body("give up"));
  await until(() => recorded(proxied).split('"is":"opened"').length >= 6);
  abort();
  await done;
  await proxied.stop();
  expect((await requestsIn(proxied)).map(({ status, error }) => [status, error])).toEqual([
    ["errored", "overloaded_error: Overloaded"],
    ["errored", "the upstream closed the connection during its response"],
    ["completed", null],
    ["errored", "the stream ended before the response was complete"],
    ["completed", null],
    ["shutdown", null],
  ]);
});

it("records a compressed response whose end is still being decompressed when the proxy stops", async () => {
  const packed = gzipSync(`${START}: ${"x".repeat(MAX_RECORD / 2)}\n\n${CALL}${END}`);
  const proxied = await started(({ outgoing }) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    outgoing.end(packed);
  });
  await ask(proxied, body("hello")).done;
  await proxied.stop();
  expect(await requestsIn(proxied)).toMatchObject([{ status: "completed", stop_reason: "tool_use" }]);
});

it("a response that expands without end is forwarded unchanged, and read up to a limit", async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from(START), Buffer.alloc(2 * MAX_RECORD, "x")]));
  const proxied = await started(({ outgoing, body: asked }) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
    outgoing.end(asked.toString().includes("bomb") ? bomb : gzipSync(START + CALL + END));
  });
  const answer = await fetch(`${proxied.url}/v1/messages`, {
    method: "POST",
    headers: { ...NAMED, "accept-encoding": "gzip" },
    body: body("bomb"),
  });
  let bytes = 0;
  for await (const part of answer.body ?? []) bytes += part.length;
  expect(bytes).toBe(START.length + 2 * MAX_RECORD);
  await ask(proxied, body("after it")).done;
  await until(() => recorded(proxied).split('"is":"ended"').length > 2);
  await proxied.stop();
  expect((await requestsIn(proxied)).map(({ status, error }) => [status, error])).toEqual([
    ["errored", "the stream ended before the response was complete"],
    ["completed", null],
  ]);
  const ended = recorded(proxied)
    .split("\n")
    .filter((line) => line.includes('"is":"ended"'));
  expect(ended.map((line) => (JSON.parse(line) as { note: { bytes: number } }).note.bytes)).toContain(bomb.length);
  expect(proxied.messages).toEqual([]);
});

it("lists requests that call no model, and does not count them as work", async () => {
  const proxied = await started(({ outgoing }) => outgoing.end(JSON.stringify({ input_tokens: 7 })));
  await ask(proxied, body("How much is this?"), NAMED, "/v1/messages/count_tokens").done;
  await ask(proxied, "", NAMED, "/v1/files").done;
  await ask(proxied, "junk {", {}, "/v1/anything").done;
  await proxied.stop();
  expect((await requestsIn(proxied)).map(({ tag, status, usage }) => [tag, status, usage])).toEqual([
    ["count", "completed", null],
    ["other", "completed", null],
    ["other", "completed", null],
  ]);
  expect((await proxied.read()).forest.agents.size).toBe(0);
});

it("records timeouts", async () => {
  const proxied = await started(() => {}, { silenceMs: 100 });
  expect(await ask(proxied, body("Hello?")).done).toContain("timeout_error");
  await proxied.stop();
  expect(await requestsIn(proxied)).toMatchObject([
    { status: "errored", error: "no data from the upstream for 100 ms" },
  ]);
});

it("an agent is not affected by a folder that cannot be written to", async () => {
  const proxied = await started(({ outgoing }) => outgoing.end("fine"));
  rmSync(proxied.folder, { recursive: true, force: true });
  mkdirSync(join(proxied.folder, ".."), { recursive: true });
  writeFileSync(proxied.folder, "in the way");
  expect(await ask(proxied, body("Hello")).done).toBe("fine");
  expect(await ask(proxied, body("Hello again")).done).toBe("fine");
  await proxied.stop();
  expect(proxied.messages.join()).toMatch(/recording problem \(agents are not affected\)/);
});

it("stores every text once, however often it is sent", async () => {
  const wire = wireOf("claude", "m-sendmessage");
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url);
  onTestFinished(() => proxied.dispose());
  await replay(wire, proxied.url, upstream);
  await proxied.stop();
  const names = [...recorded(proxied).matchAll(/"is":"piece","piece":"(\w+)"/g)].map(([, name]) => name);
  expect(names.length).toBe(new Set(names).size);
  const sent = wire.reduce(
    (sum, { request: asked }) => sum + ((asked?.messages as unknown[] | undefined)?.length ?? 0),
    0,
  );
  expect(names.length).toBeLessThan(sent);
});

it("deletes recordings that are too old, then the oldest beyond the size limit, but never the newest", async () => {
  const proxied = await started(({ outgoing }) => outgoing.end());
  mkdirSync(proxied.folder, { recursive: true });
  const now = Date.now();
  for (const [name, ageDays, size] of [
    ["a", 10, 10],
    ["b", 3, 50],
    ["c", 2, 50],
    ["d", 1, 200],
  ] as const) {
    writeFileSync(join(proxied.folder, `${name}.jsonl`), "x".repeat(size));
    utimesSync(join(proxied.folder, `${name}.jsonl`), new Date(now), new Date(now - ageDays * 86_400_000));
  }
  expect(keepWithin(proxied.folder, { ageMs: null, bytes: null }, now)).toEqual({
    files: 4,
    bytes: 310,
    removedFiles: 0,
    removedBytes: 0,
  });
  expect(keepWithin(proxied.folder, { ageMs: 5 * 86_400_000, bytes: 260 }, now)).toEqual({
    files: 2,
    bytes: 250,
    removedFiles: 2,
    removedBytes: 60,
  });
  expect(keepWithin(proxied.folder, { ageMs: null, bytes: 1 }, now)).toMatchObject({ files: 1, bytes: 200 });
  expect(readdirSync(proxied.folder)).toEqual(["d.jsonl"]);
});

it("leaves out content if the settings require it", async () => {
  const respond = ({ outgoing }: Asked) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.end(START + CALL + END);
  };
  const rules = { patterns: ["Projekt \\w+"], paths: [] };
  const full = await started(respond, { redaction: { level: "full", ...rules } });
  await ask(full, body("Projekt Adler: AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1")).done;
  await full.stop();
  expect(recorded(full)).not.toMatch(/Adler|wJalrXUtnFEMI/);
  expect(recorded(full)).toContain("Look into it");
  const metadata = await started(respond, { redaction: { level: "metadata", ...rules } });
  await ask(metadata, body("Nothing of this")).done;
  await metadata.stop();
  expect(recorded(metadata)).not.toMatch(/Nothing of this|Look into it/);
  expect(await requestsIn(metadata)).toMatchObject([{ status: "completed", usage: { outputTokens: 9 } }]);
});

it("over its budget, a session gets an error in the API's format with the largest spenders; others continue", async () => {
  const settings = await loadSettings({});
  const proxied = await started(
    ({ outgoing }) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      outgoing.end(START + CALL + END);
    },
    { settings: { ...settings, values: { ...settings.values, budgets: { tokens: 20 } } } },
  );
  const bodies: string[] = [];
  await until(async () => {
    bodies.push(await ask(proxied, body("More"), { ...NAMED, "x-claude-code-agent-id": "a1234567" }).done);
    return bodies.at(-1)?.startsWith('{"type":"error"') === true;
  });
  const { error } = JSON.parse(bodies.at(-1) ?? "{}") as { error: { type: string; message: string } };
  expect(error.type).toBe("permission_error");
  expect(error.message).toMatch(/20 tokens, is used up\. Spent: [\d,]+ tokens .* by agent a1234567 [\d,]+ tokens/);
  expect(
    await ask(proxied, body("Mine"), { ...NAMED, "x-claude-code-session-id": "22222222-2222-4333-8444-555555555555" })
      .done,
  ).toContain("message_start");
  await proxied.stop();
  expect((await requestsIn(proxied)).filter(({ error }) => error === "a budget is used up")).toHaveLength(1);
});

function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): { readonly child: ChildProcess; readonly url: Promise<string> } {
  const child = spawn(process.execPath, [MAIN, "proxy", ...args], {
    env: { ...COMPILED, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const url = new Promise<string>((resolve, reject) => {
    let received = "";
    child.stdout?.on("data", (chunk) => {
      received += chunk;
      const line = /^(http:\/\/\S+)\n/.exec(received)?.[1];
      if (line !== undefined) resolve(line);
    });
    child.once("exit", (code) => reject(new Error(`ended with ${code}: ${received}`)));
  });
  return { child, url };
}

it("as a process: prints its address, can be killed at any moment, and shows lost requests as lost", async (context) => {
  needsPosix("way to ask a process to end")(context);
  const upstream = await startUpstream(({ outgoing, body: asked }) => {
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.write(START + CALL);
    if (asked.toString().includes("whole")) outgoing.end(END);
  });
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url);
  onTestFinished(() => proxied.dispose());
  const { child, url } = run(["--port", "0", "--upstream", upstream.url], proxied.env);
  const other = { url: await url };
  await ask(other, body("whole")).done;
  const { done } = ask(other, body("half"));
  await until(() => recorded(proxied).split('"is":"block"').length >= 3);
  child.kill("SIGKILL");
  await done;
  await new Promise((resolve) =>
    child.exitCode === null && child.signalCode === null ? child.once("exit", resolve) : resolve(null),
  );
  expect(
    (await requestsIn(proxied)).map(({ status, status_reason }) => [
      status,
      /before the response was complete/.test(status_reason),
    ]),
  ).toEqual([
    ["completed", false],
    ["shutdown", true],
  ]);
  const second = run(["--port", "0", "--upstream", upstream.url, "--quiet"], proxied.env);
  await ask({ url: await second.url }, body("whole again")).done;
  second.child.kill("SIGTERM");
  await new Promise((resolve) => second.child.once("exit", resolve));
  expect(second.child.exitCode).toBe(0);
  expect((await requestsIn(proxied)).map(({ status }) => status)).toEqual(["completed", "shutdown", "completed"]);
});
