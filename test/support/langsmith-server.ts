/** A server on loopback that accepts runs by LangSmith's published rules, and misbehaves on request. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brokenRules, type SentRun } from "./langsmith-rules.ts";

export type Fault =
  | {
      readonly is: "answer";
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The connection breaks before or after the request is processed. */
  | { readonly is: "cut"; readonly when: "before" | "after" }
  /** No response, until the client gives up. */
  | { readonly is: "silence" };

export interface TakenRun extends SentRun {
  readonly tags?: readonly string[];
  readonly inputs?: Record<string, unknown>;
  readonly outputs?: Record<string, unknown>;
  readonly error?: string;
  readonly extra?: { readonly metadata: Record<string, unknown> };
}

export interface Service {
  readonly url: string;
  /** Behaviour for the next requests, one each. */
  readonly faults: Fault[];
  readonly requests: { readonly path: string; readonly headers: IncomingMessage["headers"]; readonly body: Buffer }[];
  close(): Promise<void>;
}

/** Responds with the result of `take`; null means accepted. */
export async function startService(
  take: (body: Buffer, request: IncomingMessage) => { readonly status: number; readonly body: string | Uint8Array },
): Promise<Service> {
  const faults: Fault[] = [];
  const requests: { path: string; headers: IncomingMessage["headers"]; body: Buffer }[] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The client was killed in the middle: nothing arrived.
      return;
    }
    const body = Buffer.concat(chunks);
    requests.push({ path: request.url ?? "", headers: request.headers, body });
    const fault = faults.shift();
    if (fault?.is === "silence") return;
    if (fault?.is === "cut" && fault.when === "before") return void request.socket.destroy();
    if (fault?.is === "answer")
      return void response.writeHead(fault.status, { ...fault.headers }).end(fault.body ?? "");
    const answer = take(body, request);
    if (fault?.is === "cut") return void request.socket.destroy();
    response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, faults, requests, close };
}

/** Fields that a patch must not change. */
const FINAL = ["dotted_order", "parent_run_id", "trace_id"] as const;

export interface LangSmithServer extends Service {
  readonly runs: ReadonlyMap<string, TakenRun>;
  /** Runs that it refuses, whatever else is in the batch. */
  readonly poison: Set<string>;
  /** Ids of runs that were posted twice. */
  readonly repeated: string[];
  /** Errors of runs that broke a rule. */
  readonly refusals: string[];
  /** Ids of runs whose place in the trace was changed after they were posted. */
  readonly contradictions: string[];
  maxBytes: number;
}

export async function startLangSmith(): Promise<LangSmithServer> {
  const runs = new Map<string, TakenRun>();
  const poison = new Set<string>();
  const repeated: string[] = [];
  const contradictions: string[] = [];
  const refusals: string[] = [];
  const limits = { maxBytes: 20 << 20 };
  const service = await startService((body, request) => {
    if (request.url !== "/runs/multipart" || request.method !== "POST") return { status: 404, body: "not found" };
    if (request.headers["x-api-key"] !== "test-key") return { status: 401, body: "Unauthorized" };
    if (body.length > limits.maxBytes) return { status: 413, body: "Payload too large" };
    const operations = operationsIn(body, String(request.headers["content-type"]));
    if (typeof operations === "string") return { status: 400, body: operations };
    if (operations.length > 100) return { status: 413, body: "too many operations" };
    const wrong = operations.flatMap(({ is, run }) => (is === "post" ? brokenRules(run) : []));
    if (wrong.length > 0) {
      refusals.push(...wrong);
      return { status: 400, body: wrong.join("; ") };
    }
    const poisoned = operations.find(({ run }) => poison.has(run.name ?? ""));
    if (poisoned !== undefined) return { status: 422, body: `cannot take ${poisoned.run.name}` };
    const conflict = operations.find(({ is, run }) =>
      is === "post" ? runs.has(run.id) : runs.get(run.id)?.end_time !== undefined,
    );
    if (conflict !== undefined) {
      repeated.push(conflict.run.id);
      return { status: 409, body: `run ${conflict.run.id} is there already` };
    }
    const moved = operations.find(
      ({ is, run }) =>
        is === "patch" && runs.has(run.id) && FINAL.some((field) => run[field] !== runs.get(run.id)?.[field]),
    );
    if (moved !== undefined) {
      contradictions.push(moved.run.id);
      return { status: 400, body: `run ${moved.run.id} is in another place` };
    }
    const unknown = operations.find(({ is, run }) => is === "patch" && !runs.has(run.id));
    if (unknown !== undefined) return { status: 400, body: `no run ${unknown.run.id} to patch` };
    for (const { run } of operations) runs.set(run.id, { ...runs.get(run.id), ...run });
    return { status: 202, body: "{}" };
  });
  return Object.assign(service, {
    runs,
    poison,
    repeated,
    contradictions,
    refusals,
    get maxBytes() {
      return limits.maxBytes;
    },
    set maxBytes(bytes: number) {
      limits.maxBytes = bytes;
    },
  });
}

/** The combined parts of a body, or an error. */
export function operationsIn(
  body: Buffer,
  contentType: string,
): { readonly is: "post" | "patch"; readonly run: TakenRun }[] | string {
  const boundary = /^multipart\/form-data; boundary=(\S+)$/.exec(contentType)?.[1];
  if (boundary === undefined) return `not multipart: ${contentType}`;
  const text = body.toString("latin1");
  if (!text.endsWith(`--${boundary}--\r\n`)) return "it does not end with its boundary";
  const operations = new Map<string, { is: "post" | "patch"; run: Record<string, unknown> }>();
  for (const part of text.slice(0, -`--${boundary}--\r\n`.length).split(`--${boundary}\r\n`).slice(1)) {
    const [, name, length, content] =
      /^Content-Disposition: form-data; name="([^"]+)"\r\nContent-Type: application\/json; length=(\d+)\r\n\r\n([\s\S]*)\r\n$/.exec(
        part,
      ) ?? [];
    if (name === undefined || content === undefined) return `malformed part: ${part.slice(0, 120)}`;
    if (content.length !== Number(length)) return `${name} has ${content.length} bytes, but its length is ${length}`;
    const [, is, id, field] =
      /^(post|patch)\.([0-9a-f-]{36})(?:\.(inputs|outputs|events|extra|error|serialized))?$/.exec(name) ?? [];
    if (is === undefined || id === undefined) return `unknown part ${name}`;
    const value: unknown = JSON.parse(Buffer.from(content, "latin1").toString());
    const known = operations.get(`${is}.${id}`) ?? { is: is as "post" | "patch", run: { id } };
    operations.set(`${is}.${id}`, known);
    Object.assign(known.run, field === undefined ? value : { [field]: value });
  }
  return [...operations.values()] as unknown as { readonly is: "post" | "patch"; readonly run: TakenRun }[];
}
