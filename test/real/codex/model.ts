/**
 * A scripted replacement of the Responses API on loopback. Its log is what really happened, whatever the product
 * records.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { type Block, findTool, type Reply, replyOf, type Scripts, scriptOf } from "./script.ts";
import { type Answer, inventedUsage, type OutputItem, opening, type ResponsesRequest, streamed } from "./wire.ts";

export interface Exchange {
  thread: string;
  script: string | null;
  step: number;
  request: ResponsesRequest;
  /** Null for an HTTP error. */
  answer: Answer | null;
  finished: boolean;
}

export interface Model {
  url: string;
  exchanges: readonly Exchange[];
  /** Waits until this step is requested. */
  reached(script: string, step: number): Promise<void>;
  close(): Promise<void>;
}

const PATIENCE_MS = 120_000;
const newId = (prefix: string) => `${prefix}_${randomBytes(11).toString("hex")}`;

export async function startModel(scripts: Scripts): Promise<Model> {
  const exchanges: Exchange[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const request = await responsesRequest(incoming);
    if (request === null) {
      outgoing.writeHead(404, { "content-type": "application/json" });
      outgoing.end("{}");
      return;
    }
    const thread = threadOf(incoming.headers);
    const script = scriptOf(request);
    const step = exchanges.filter((earlier) => earlier.thread === thread && earlier.script === script).length;
    const exchange: Exchange = { thread, script, step, request, answer: null, finished: false };
    exchanges.push(exchange);
    const number = exchanges.length;
    const reply = replyOf(scripts, script, step, { request });
    if ("error" in reply) {
      outgoing.writeHead(reply.error, { "content-type": "application/json" });
      outgoing.end(
        JSON.stringify({ error: { message: "scripted failure", type: "invalid_request_error", code: "scripted" } }),
      );
      return;
    }
    if ("afterMs" in reply && reply.afterMs !== undefined) await sleep(reply.afterMs);
    const answer: Answer = {
      id: newId("resp"),
      model: request.model,
      output: outputOf(reply, request),
      usage: inventedUsage(number),
    };
    exchange.answer = answer;
    outgoing.on("finish", () => {
      exchange.finished = true;
    });
    outgoing.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    if ("hang" in reply) {
      outgoing.write(opening(answer));
      return;
    }
    for (const piece of streamed(answer)) outgoing.write(piece);
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    async reached(script, step) {
      const deadline = Date.now() + PATIENCE_MS;
      while (!exchanges.some((exchange) => exchange.script === script && exchange.step === step)) {
        if (Date.now() > deadline)
          throw new Error(`step ${step} of ${script} was not requested within ${PATIENCE_MS} ms`);
        await sleep(20);
      }
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Old versions call a thread a session. */
function threadOf(headers: IncomingMessage["headers"]): string {
  const id = headers["thread-id"] ?? headers.thread_id ?? headers["session-id"] ?? headers.session_id;
  if (typeof id !== "string") throw new Error("a request that names no thread");
  return id;
}

async function responsesRequest(incoming: IncomingMessage): Promise<ResponsesRequest | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  if (incoming.method !== "POST" || !/\/responses(\?|$)/.test(incoming.url ?? "")) return null;
  const bytes = Buffer.concat(chunks);
  const encoding = incoming.headers["content-encoding"];
  const plain = encoding === "gzip" ? gunzipSync(bytes) : encoding === "zstd" ? zstdDecompressSync(bytes) : bytes;
  return JSON.parse(plain.toString("utf8")) as ResponsesRequest;
}

function outputOf(reply: Exclude<Reply, { error: number }>, request: ResponsesRequest): OutputItem[] {
  return "blocks" in reply ? reply.blocks.map((block) => toItem(block, request)) : [];
}

function toItem(block: Block, request: ResponsesRequest): OutputItem {
  if ("text" in block)
    return {
      type: "message",
      id: newId("msg"),
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: block.text, annotations: [] }],
    };
  if ("code" in block)
    return {
      type: "custom_tool_call",
      id: newId("ctc"),
      call_id: newId("call"),
      name: "exec",
      input: block.code,
      status: "completed",
    };
  const namespace = findTool(request, block.tool)?.namespace ?? null;
  const call = {
    type: "function_call",
    id: newId("fc"),
    call_id: newId("call"),
    name: block.tool,
    arguments: JSON.stringify(block.input),
  } as const;
  return { ...call, ...(namespace === null ? {} : { namespace }), status: "completed" };
}
