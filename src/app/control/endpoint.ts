import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type JsonObject, parseJson } from "../../core/tools/json.ts";
import { MAX_NOTE } from "../../core/tools/limits.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { isSame, newToken } from "../access.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { controlFolder, type OwnerNote } from "./notes.ts";
import type { Owner, SteerRequest } from "./owner.ts";

export interface Endpoint {
  close(): void;
}

/**
 * Lets other retinue processes of this user reach the agents that this process controls: a port on loopback whose token
 * only this user can read.
 */
export async function openEndpoint(env: Env, owner: Owner): Promise<Endpoint> {
  const token = newToken();
  const server = createServer((request, response) => {
    void answerTo(request, owner, token).then(({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
      response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  privateFolder(controlFolder(env));
  const path = join(controlFolder(env), `${randomBytes(6).toString("hex")}.json`);
  writePrivate(path, JSON.stringify({ pid: process.pid, url: `http://127.0.0.1:${port}/`, token } satisfies OwnerNote));
  return {
    close: () => {
      rmSync(path, { force: true });
      server.closeAllConnections();
      server.close();
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

async function answerTo(request: IncomingMessage, owner: Owner, token: string): Promise<Answer> {
  const bearer = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
  // Browsers send an origin with every request that changes something.
  if (bearer === undefined || !isSame(bearer, token) || request.headers.origin !== undefined)
    return { status: 401, body: { message: "the token is missing or wrong" } };
  if (request.method === "GET") return { status: 200, body: owner.state() };
  const body = await bodyOf(request);
  if (body === null) return { status: 400, body: { message: "the body is not a JSON object" } };
  try {
    if (request.url === "/steer") {
      await owner.steer(body as unknown as SteerRequest);
      return { status: 200, body: { done: true } };
    }
    const { id, ...answer } = body as unknown as { id: string } & Parameters<Owner["answer"]>[1];
    return { status: 200, body: { done: await owner.answer(id, answer) } };
  } catch (error) {
    const code = error instanceof Failure ? error.code : "failed";
    return { status: 409, body: { code, message: (error as Error).message } };
  }
}

async function bodyOf(request: IncomingMessage): Promise<JsonObject | null> {
  const parts: Buffer[] = [];
  let room = MAX_NOTE;
  for await (const part of request as AsyncIterable<Buffer>) {
    room -= part.length;
    if (room < 0) return null;
    parts.push(part);
  }
  const value = parseJson(Buffer.concat(parts).toString("utf8"))?.value;
  return typeof value === "object" && value !== null ? (value as JsonObject) : null;
}
