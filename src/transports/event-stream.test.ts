import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { MAX_JSON_DEPTH, MAX_RECEIPT, MAX_RECORD } from "../core/tools/limits.ts";
import { fetchJson, readEventStream } from "./event-stream.ts";
import { send } from "./send.ts";

const CHUNK = 1 << 20;
/** Bytes that may be in transit between two processes, in addition to those that were read. */
const UNDER_WAY = 16 << 20;

/** A server with an endless response; counts the bytes that it could send. */
async function endless(type: string, start: string, then = "x") {
  const chunk = Buffer.alloc(CHUNK, then);
  const sent = { bytes: 0 };
  const pour = (to: ServerResponse) => {
    while (!to.destroyed && to.write(chunk)) sent.bytes += CHUNK;
    to.once("drain", () => pour(to));
  };
  return {
    sent,
    ...(await serving((response) => {
      response.writeHead(200, { "content-type": type });
      response.write(start);
      pour(response);
    })),
  };
}

async function serving(answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => request.resume().on("end", () => answer(response)));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return { url, server: { url, authorization: null } };
}
const { signal } = new AbortController();

it("an endless response is cut at the limit and marked as too large", async () => {
  const { server, sent } = await endless("application/json", '["');
  expect(await fetchJson(server, "/session", signal)).toEqual({ status: 413, body: null });
  expect(sent.bytes).toBeLessThanOrEqual(MAX_RECORD + UNDER_WAY);
});

it("a response that is nested too deeply is ignored", async () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  for (const [levels, isTaken] of [
    [MAX_JSON_DEPTH, true] as const,
    [5_000, false] as const,
    [5_000_000, false] as const,
  ]) {
    const { server } = await serving((response) => response.end(nested(levels)));
    expect((await fetchJson(server, "/session", signal))?.body !== null).toBe(isTaken);
  }
});

it.each([
  ["one line", "x"],
  ["many lines", `data: ${"x".repeat(1_000)}\n`],
])("a frame without end breaks the connection at the limit: %s", async (_, then) => {
  const { server, sent } = await endless("text/event-stream", "data: ", then);
  const reading = async () => {
    for await (const _ of readEventStream(server, "/event", { signal, silenceMs: 60_000, onOpen: () => {} }));
  };
  await expect(reading()).rejects.toThrow(/max buffer size/);
  expect(sent.bytes).toBeLessThanOrEqual(MAX_RECORD + UNDER_WAY);
});

it("a redirect is not followed, neither by requests, nor by the stream, nor by sent data", async () => {
  let visits = 0;
  const elsewhere = await serving((response) => {
    visits += 1;
    response.end("{}");
  });
  const { url, server } = await serving((response) =>
    response.writeHead(307, { location: elsewhere.url.href, "content-type": "text/event-stream" }).end(),
  );
  const trusted = { ...server, authorization: "Basic x" };
  expect(await fetchJson(trusted, "/session", signal)).toEqual({ status: 307, body: null });
  const events = readEventStream(trusted, "/event", { signal, silenceMs: 60_000, onOpen: () => {} });
  await expect(events.next()).rejects.toThrow("it returned status 307");
  await send({ url: url.href, headers: { authorization: "x" }, body: new Uint8Array(3), timeoutMs: 60_000 });
  expect(visits).toBe(0);
});

it("sent data counts as received even if the response body does not end", async () => {
  const { url, sent } = await endless("text/plain", "");
  const outcome = await send({ url: url.href, headers: {}, body: new Uint8Array(3), timeoutMs: 60_000 });
  expect(outcome).toMatchObject({ is: "accepted", status: 200 });
  expect(sent.bytes).toBeLessThanOrEqual(MAX_RECEIPT + UNDER_WAY);
});
