import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { outcomeOf, send } from "./send.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const of = (status: number, body = "", retryAfter: string | null = null) =>
  outcomeOf(status, new TextEncoder().encode(body), retryAfter, NOW);

describe("a response", () => {
  it.each([
    [200, "accepted"],
    [202, "accepted"],
    [409, "known"],
    [400, "refused"],
    [422, "refused"],
    [413, "too-large"],
    [301, "unavailable"],
    [401, "unavailable"],
    [403, "unavailable"],
    [404, "unavailable"],
    [408, "unavailable"],
    [429, "unavailable"],
    [500, "unavailable"],
    [503, "unavailable"],
  ])("%i means that it is %s", (status, is) => {
    expect(of(status).is).toBe(is);
  });

  it("has its reason in one line, and the time of the next attempt", () => {
    expect(of(503, " over\n loaded ", "2")).toEqual({
      is: "unavailable",
      status: 503,
      reason: "503 over loaded",
      retryAfterMs: 2_000,
    });
    expect(of(429, "", "Thu, 01 Jan 2026 00:01:00 GMT")).toMatchObject({ retryAfterMs: 60_000 });
    expect(of(429, "", "soon")).toMatchObject({ retryAfterMs: null });
  });
});

it("a redirect is not followed, so another server gets neither the body nor the credentials", async () => {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.writeHead(307, { Location: "/elsewhere" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const headers = { Authorization: "Bearer secret" };
    const outcome = await send({
      url: `http://127.0.0.1:${port}/first`,
      headers,
      body: Buffer.from("text"),
      timeoutMs: 5_000,
    });
    expect(outcome).toMatchObject({ is: "unavailable", status: 307 });
    expect(asked).toEqual(["/first"]);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
