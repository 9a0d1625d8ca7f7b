/**
 * Credentials of every kind pass through a proxy; none of them is stored on disk, in a file name or in printed
 * output.
 */
import { spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { Requests } from "../../src/app/query/requests.ts";
import { MAIN } from "../support/cli.ts";
import { filesBelow } from "../support/fixtures.ts";
import { until } from "../support/server.ts";
import { startProxied } from "./proxied.ts";
import { type Asked, startUpstream } from "./upstream.ts";

interface Sent {
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer | readonly string[];
  /** The response of the upstream. */
  readonly answer?: (asked: Asked) => void;
}

const JSON_TYPE = { "content-type": "application/json" };
const message = (more: object) =>
  JSON.stringify({ model: "claude-opus-5-5", stream: true, messages: [{ role: "user", content: "Hello" }], ...more });
const form = (fields: Record<string, string>): Sent => ({
  path: "/oauth/token",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: new URLSearchParams(fields).toString(),
});
const multipart = (...fields: readonly (readonly [head: string, value: string])[]): Sent => ({
  path: "/v1/files",
  headers: { "content-type": "multipart/form-data; boundary=----b1" },
  body: `${fields.map(([head, value]) => `------b1\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`).join("")}------b1--\r\n`,
});
const json = (body: object, path = "/oauth/token"): Sent => ({ path, headers: JSON_TYPE, body: JSON.stringify(body) });
const header =
  (name: string, value = (secret: string) => secret) =>
  (secret: string): Sent => ({ headers: { [name]: value(secret) } });
const query =
  (parameters: (secret: string) => string) =>
  (secret: string): Sent => ({ path: `/v1/messages?beta=true&${parameters(secret)}` });
const prompt =
  (text: (secret: string) => string) =>
  (secret: string): Sent => ({ body: message({ messages: [{ role: "user", content: text(secret) }] }) });
const event = (data: { readonly type: string; readonly [more: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

/** Emits the id of a request when the first bytes of its response have arrived. */
const arrivals = new EventEmitter();

/** A response in which the secret is split over two events, and one of them over two chunks. */
const streamed =
  (start: object, delta: (piece: string) => object, text: (secret: string) => string) =>
  (secret: string): Sent => ({
    answer: ({ mark, outgoing }) => {
      const whole = text(secret);
      const middle = whole.indexOf(secret) + Math.floor(secret.length / 2);
      const events = [
        event({
          type: "message_start",
          message: {
            id: "msg_01aaaaaaaaaaaaaaaaaaaaaa",
            model: "claude-opus-5-5",
            usage: { input_tokens: 3, output_tokens: 1 },
          },
        }),
        event({ type: "content_block_start", index: 0, content_block: start }),
        event({ type: "content_block_delta", index: 0, delta: delta(whole.slice(0, middle)) }),
        event({ type: "content_block_delta", index: 0, delta: delta(whole.slice(middle)) }),
        event({ type: "content_block_stop", index: 0 }) + event({ type: "message_stop" }),
      ].join("");
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      const cut = events.indexOf(whole.slice(0, middle)) + 5;
      arrivals.once(mark, () => outgoing.end(events.slice(cut)));
      outgoing.write(events.slice(0, cut));
    },
  });
const answered =
  (headers: (secret: string) => Record<string, string>) =>
  (secret: string): Sent => ({
    answer: ({ outgoing }) => outgoing.writeHead(200, { ...JSON_TYPE, ...headers(secret) }).end("{}"),
  });

const githubKey = (secret: string) => `gh${"p_"}${secret}`;

const KINDS: Readonly<Record<string, (secret: string) => Sent>> = {
  "Anthropic x-api-key": header("x-api-key"),
  "authorization: Bearer": header("authorization", (secret) => `Bearer ${secret}`),
  "authorization: Basic": header(
    "authorization",
    (secret) => `Basic ${Buffer.from(`ada:${secret}`).toString("base64")}`,
  ),
  "proxy-authorization": header("proxy-authorization", (secret) => `Basic ${secret}`),
  "AWS SigV4 header": header(
    "authorization",
    (secret) => `AWS4-HMAC-SHA256 Credential=AKID/20261117/eu-west-1/bedrock/aws4_request, Signature=${secret}`,
  ),
  "x-amz-security-token": header("x-amz-security-token"),
  cookie: header("cookie", (secret) => `theme=dark; sid=${secret}`),
  "Google x-goog-api-key": header("x-goog-api-key"),
  "Google x-goog-iam-authorization-token": header("x-goog-iam-authorization-token"),
  "Azure api-key": header("api-key"),
  "Azure ocp-apim-subscription-key": header("ocp-apim-subscription-key"),
  "openai-api-key": header("openai-api-key"),
  "LiteLLM x-litellm-api-key": header("x-litellm-api-key"),
  "LiteLLM x-litellm-key": header("x-litellm-key"),
  "Portkey x-portkey-api-key": header("x-portkey-api-key"),
  "Portkey x-portkey-virtual-key": header("x-portkey-virtual-key"),
  "Portkey x-portkey-config": header("x-portkey-config", (secret) =>
    JSON.stringify({ provider: "openai", api_key: secret }),
  ),
  "Helicone helicone-auth": header("helicone-auth", (secret) => `Bearer ${secret}`),
  "Helicone helicone-omit": header("helicone-property-auth"),
  "Cloudflare cf-aig-authorization": header("cf-aig-authorization", (secret) => `Bearer ${secret}`),
  "Cloudflare cf-access-client-secret": header("cf-access-client-secret"),
  "Cloudflare cf-access-jwt-assertion": header("cf-access-jwt-assertion"),
  "Vercel x-vercel-oidc-token": header("x-vercel-oidc-token"),
  "Vercel x-vercel-protection-bypass": header("x-vercel-protection-bypass"),
  "Kong apikey": header("apikey"),
  "RapidAPI x-rapidapi-key": header("x-rapidapi-key"),
  "x-auth-token": header("x-auth-token"),
  "x-access-token": header("x-access-token"),
  "x-csrf-token": header("x-csrf-token"),
  "GitHub x-github-token": header("x-github-token"),
  "Copilot x-copilot-session-token": header("copilot-session-token"),
  "MCP x-mcp-proxy-auth": header("x-mcp-proxy-auth", (secret) => `Bearer ${secret}`),
  "MCP mcp-session-id": header("mcp-session-id"),
  "an unknown header": header("x-acme-gate"),
  "a key in user-agent": header("user-agent", (secret) => `tool/1.0 (${githubKey(secret)})`),
  "a family's name with a token": header("x-claude-code-oauth-token"),
  "OpenRouter key in a known header": header("http-referer", (secret) => `https://ada:${secret}@example.com/`),
  "?key=": query((secret) => `key=${secret}`),
  "?access_token=": query((secret) => `access_token=${secret}`),
  "?api_key=": query((secret) => `api_key=${secret}`),
  "?code= of OAuth": query((secret) => `code=${secret}&state=1`),
  "an unknown query parameter": query((secret) => `gate=${secret}`),
  "a query without a name": query((secret) => secret),
  "AWS SigV4 query": query((secret) => `X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=${secret}`),
  "AWS session token in a query": query((secret) => `X-Amz-Security-Token=${encodeURIComponent(`${secret}+/=`)}`),
  "Azure SAS query": query((secret) => `sv=2022-11-02&sig=${encodeURIComponent(`${secret}=`)}`),
  "a key in the path": (secret) => ({ path: `/${githubKey(secret)}/v1/messages` }),
  "OAuth refresh_token": (secret) => form({ grant_type: "refresh_token", refresh_token: secret }),
  "OAuth client_secret": (secret) => form({ grant_type: "client_credentials", client_id: "a", client_secret: secret }),
  "OAuth password": (secret) => form({ grant_type: "password", username: "ada", password: secret }),
  "OAuth code and verifier": (secret) => form({ grant_type: "authorization_code", code: "x", code_verifier: secret }),
  "field of a multipart form": (secret) => multipart(['name="purpose"', "batch"], ['name="password"', secret]),
  "field of a multipart form with any name": (secret) => multipart(['name="pin"', secret], ['name="purpose"', "a"]),
  "file of a multipart form": (secret) =>
    multipart([`name="file"; filename="a.txt"\r\nContent-Type: text/plain`, `line\r\n\r\n${secret}\r\nline`]),
  "OAuth client assertion": (secret) => form({ client_assertion: secret }),
  "OAuth refresh_token as JSON": (secret) => json({ grant_type: "refresh_token", refresh_token: secret }),
  "OAuth code_verifier as JSON": (secret) => json({ client_id: "a", client_secret: secret }),
  "MCP authorization_token": (secret) => ({
    body: message({ mcp_servers: [{ type: "url", url: "https://example.com/mcp", authorization_token: secret }] }),
  }),
  "MCP headers of a tool": (secret) => ({
    path: "/v1/responses",
    body: message({
      input: "Hello",
      tools: [{ type: "mcp", server_url: "https://example.com", headers: { Authorization: `Bearer ${secret}` } }],
    }),
  }),
  "MCP authorization of a tool": (secret) => ({
    path: "/v1/responses",
    body: message({ input: "Hello", tools: [{ type: "mcp", authorization: secret }] }),
  }),
  "api_key in a body": (secret) => ({ path: "/v1/chat/completions", body: message({ api_key: secret }) }),
  "aws_secret_access_key in a body": (secret) => ({
    path: "/v1/chat/completions",
    body: message({ aws_secret_access_key: secret }),
  }),
  "a password in a prompt": prompt((secret) => `Use DB_PASSWORD=${secret} please`),
  "a key in a prompt": prompt((secret) => `My token is ${githubKey(secret)}, use it`),
  "a key in a system prompt": (secret) => ({ body: message({ system: `Token: ${githubKey(secret)}` }) }),
  "a key in a tool's result": (secret) => ({
    body: message({
      messages: [
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: `PASSWORD=${secret}\n` }] },
      ],
    }),
  }),
  "a key in a packed body": (secret) => ({
    headers: { ...JSON_TYPE, "content-encoding": "gzip" },
    body: gzipSync(message({ system: `Token: ${githubKey(secret)}` })),
  }),
  "a key in a body that comes in two pieces": (secret) => {
    const whole = message({ system: `Token: ${githubKey(secret)}` });
    const middle = whole.indexOf(secret) + 10;
    return { body: [whole.slice(0, middle), whole.slice(middle)] };
  },
  "a body that is no JSON": (secret) => ({ path: "/v1/anything", body: `password: ${secret}\n{` }),
  "a key in an upload": (secret) => ({
    path: "/v1/files",
    headers: { "content-type": "multipart/form-data; boundary=b" },
    body: `--b\r\n\r\nAPI_KEY=${secret}\r\n--b--`,
  }),
  "set-cookie": answered((secret) => ({ "set-cookie": `sid=${secret}; HttpOnly` })),
  "location with a code": answered((secret) => ({ location: `https://example.com/cb?code=${secret}` })),
  "a new token in the answer's headers": answered((secret) => ({ "x-new-access-token": secret })),
  "a token endpoint's answer": (secret) => ({
    ...json({ grant_type: "x" }),
    answer: ({ outgoing }) =>
      outgoing.writeHead(200, JSON_TYPE).end(JSON.stringify({ access_token: secret, id_token: secret })),
  }),
  "an error that repeats the key": (secret) => ({
    answer: ({ outgoing }) =>
      outgoing.writeHead(401, JSON_TYPE).end(
        JSON.stringify({
          type: "error",
          error: { type: "authentication_error", message: `invalid key ${githubKey(secret)}` },
        }),
      ),
  }),
  "a streamed text, split over events and chunks": streamed(
    { type: "text", text: "" },
    (text) => ({ type: "text_delta", text }),
    (secret) => `It is ${githubKey(secret)}.`,
  ),
  "a streamed call of a tool, split over events and chunks": streamed(
    { type: "tool_use", id: "toolu_01aaaaaaaaaaaaaaaaaa", name: "Bash", input: {} },
    (partial) => ({ type: "input_json_delta", partial_json: partial }),
    (secret) => `{"command":"deploy --token=${secret}"}`,
  ),
  "an answer as a whole": (secret) => ({
    answer: ({ outgoing }) =>
      outgoing.writeHead(200, JSON_TYPE).end(
        JSON.stringify({
          id: "msg_1",
          type: "message",
          model: "m",
          content: [{ type: "text", text: `PASSWORD=${secret}` }],
          usage: {},
        }),
      ),
  }),
};

/** Unlike any vendor's key, so that only its position identifies it. */
const secretOf = (i: number) => `zQ7${(i + 11).toString(36)}k2Wm9xR4tB8nV3pL6sD1`.padEnd(24, "fH5");

/** Unchanged, and as programs encode them. */
const formsOf = (secret: string) => [
  secret,
  Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  encodeURIComponent(secret),
  Buffer.from(secret).toString("hex"),
];

function leaksIn(home: string, secrets: ReadonlyMap<string, string>, also = ""): string[] {
  const texts = [also, ...filesBelow(home).flatMap((path) => [path, readFileSync(join(home, path), "latin1")])];
  return [...secrets].flatMap(([kind, secret]) =>
    formsOf(secret).some((form) => texts.some((text) => text.includes(form))) ? [kind] : [],
  );
}

function send(
  url: string,
  { path = "/v1/messages", headers = JSON_TYPE, body = message({}) }: Sent,
  id: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = request(
      `${url}${path}`,
      { method: "POST", headers: { ...headers, "x-correlation-id": id } },
      (response) => {
        response.resume();
        response.once("data", () => arrivals.emit(id));
        response.on("close", resolve);
      },
    );
    asking.on("error", reject);
    const pieces = Array.isArray(body) ? body : [body];
    for (const piece of pieces.slice(0, -1)) asking.write(piece);
    asking.end(pieces.at(-1));
  });
}

it("stores no credentials, wherever they are", async () => {
  const sent = new Map(Object.entries(KINDS).map(([kind, make], i) => [String(i), { kind, ...make(secretOf(i)) }]));
  const arrived = new Set<string>();
  const upstream = await startUpstream((asked) => {
    const { mark, incoming, body, outgoing } = asked;
    const secret = secretOf(Number(mark));
    // The upstream gets everything: redaction changes only what is stored.
    const whole = `${incoming.url} ${JSON.stringify(incoming.rawHeaders)} ${body.toString()} ${body.toString("latin1")}`;
    if (formsOf(secret).some((form) => whole.includes(form))) arrived.add(mark);
    const answer = sent.get(mark)?.answer;
    if (answer === undefined) outgoing.writeHead(200, JSON_TYPE).end("{}");
    else answer(asked);
  });
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url);
  onTestFinished(() => proxied.dispose());
  for (const [id, one] of sent) await send(proxied.url, one, id);
  await proxied.stop();
  const secrets = new Map([...sent].map(([id, { kind }]) => [kind, secretOf(Number(id))]));
  const asked = filesBelow(proxied.folder).map((path) => readFileSync(join(proxied.folder, path), "utf8"));
  expect(asked.join("").split('"is":"asked"').length - 1).toBe(sent.size);
  expect(arrived.size).toBeGreaterThan(sent.size / 2);
  const { library } = await proxied.read();
  const listed = JSON.stringify(new Requests(library).list({ limit: 999 }).items);
  expect(leaksIn(proxied.env.RETINUE_HOME ?? "", secrets, listed + proxied.messages.join())).toEqual([]);
  expect(secrets.size).toBeGreaterThanOrEqual(49);
  console.log(`proxy: ${secrets.size} kinds of credentials, none on disk`);
});

it("distinguishes equal values from others, but only within one run", async () => {
  const upstream = await startUpstream(({ outgoing }) => outgoing.end("{}"));
  onTestFinished(() => upstream.close());
  const marks: string[][] = [];
  for (let run = 0; run < 2; run++) {
    const proxied = await startProxied(upstream.url);
    onTestFinished(() => proxied.dispose());
    for (const key of ["one", "one", "two"])
      await send(proxied.url, { headers: { ...JSON_TYPE, "x-api-key": key } }, "1");
    await proxied.stop();
    const text = filesBelow(proxied.folder).map((path) => readFileSync(join(proxied.folder, path), "utf8"));
    marks.push([...text.join("").matchAll(/"x-api-key":"([^"]*)"/g)].map(([, mark]) => mark ?? ""));
  }
  const [[first, second, third] = [], [again] = []] = marks;
  expect(first).toMatch(/^\[withheld:[0-9a-f]{8}\]$/);
  expect([second === first, third === first, again === first]).toEqual([true, false, false]);
});

it("the password of an upstream is neither printed nor stored", async () => {
  const upstream = await startUpstream(({ outgoing }) => outgoing.end("{}"));
  onTestFinished(() => upstream.close());
  const home = await startProxied(upstream.url);
  onTestFinished(() => home.dispose());
  const secret = secretOf(700);
  const address = upstream.url.replace("//", `//ada:${secret}@`);
  const child = spawn(
    process.execPath,
    [MAIN, "proxy", "--port", "0", "--json", "--upstream", `${address}/?key=${secret}`],
    {
      env: home.env,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (printed += chunk));
  await until(() => printed.includes('"url"'));
  const { url } = JSON.parse(printed.split("\n").find((line) => line.startsWith("{")) ?? "{}") as { url: string };
  await send(url, {}, "1");
  child.kill("SIGTERM");
  await new Promise((resolve) => child.once("exit", resolve));
  const data = home.env.RETINUE_HOME ?? "";
  expect(filesBelow(join(data, "recordings/proxy")).length).toBe(1);
  expect(leaksIn(data, new Map([["password", secret]]), printed)).toEqual([]);
});
