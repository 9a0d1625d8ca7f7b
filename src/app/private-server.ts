import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { parseJson } from "../core/tools/json.ts";
import { isSame, newToken } from "./access.ts";

export interface PrivateServer {
  readonly url: string;
  readonly token: string;
  close(): void;
}

export interface PrivateRequest {
  readonly method: string;
  readonly path: string;
  /** Null if it is missing, not JSON, or too large. */
  readonly body: unknown;
}

export interface PrivateResponse {
  readonly status: number;
  readonly body: object;
}

/**
 * A server on loopback for retinue's own processes, which send the token. Requests of browsers are refused. The server
 * does not keep the process alive.
 */
export async function openPrivateServer(
  answer: (request: PrivateRequest) => Promise<PrivateResponse>,
  maxBytes: number,
): Promise<PrivateServer> {
  const token = newToken();
  const server = createServer((request, response) => {
    void (async () => {
      const { status, body } = isAllowed(request, token)
        ? await answer({
            method: request.method ?? "",
            path: request.url ?? "",
            body: await bodyOf(request, maxBytes),
          })
        : { status: 401, body: { message: "the token is missing or wrong" } };
      response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
      response.end(JSON.stringify(body));
    })();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    token,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Browsers send an origin with every request that changes something. */
function isAllowed({ headers }: IncomingMessage, token: string): boolean {
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
  return bearer !== undefined && isSame(bearer, token) && headers.origin === undefined;
}

async function bodyOf(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const parts: Buffer[] = [];
  let room = maxBytes;
  for await (const part of request as AsyncIterable<Buffer>) {
    room -= part.length;
    if (room < 0) return null;
    parts.push(part);
  }
  return parseJson(Buffer.concat(parts).toString("utf8"))?.value ?? null;
}
