import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { asObject } from "../../core/tools/json.ts";
import { MAX_NOTE } from "../../core/tools/limits.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { openPrivateServer, type PrivateRequest, type PrivateResponse } from "../private-server.ts";
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
  const { url, token, close } = await openPrivateServer((request) => answerTo(request, owner), MAX_NOTE);
  privateFolder(controlFolder(env));
  const path = join(controlFolder(env), `${randomBytes(6).toString("hex")}.json`);
  writePrivate(path, JSON.stringify({ pid: process.pid, url, token } satisfies OwnerNote));
  return {
    close: () => {
      rmSync(path, { force: true });
      close();
    },
  };
}

async function answerTo({ method, path, body: sent }: PrivateRequest, owner: Owner): Promise<PrivateResponse> {
  if (method === "GET") return { status: 200, body: owner.state() };
  const body = asObject(sent);
  if (body === null) return { status: 400, body: { message: "the body is not a JSON object" } };
  try {
    if (path === "/steer") {
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
