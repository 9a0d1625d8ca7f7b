/**
 * A scripted replacement of the Messages API on loopback. Its log is what really happened, whatever the product
 * records.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Block, type Position, positionOf, type Reply, replyOf, type Scripts } from "./script.ts";
import { inventedUsage } from "./usage.ts";
import { type Answer, type ContentBlock, type MessagesRequest, opening, streamed } from "./wire.ts";

export interface Exchange extends Position {
  headers: Record<string, string>;
  request: MessagesRequest;
  status: number;
  /** `null` for an HTTP error. */
  answer: Answer | null;
  /** false while it is being sent, and forever if the client disconnected before the end. */
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
const PING_MS = 200;

export async function startModel(scripts: Scripts): Promise<Model> {
  const exchanges: Exchange[] = [];
  let responses = 0;
  const makeAnswer = (request: MessagesRequest, blocks: Block[]): Answer => {
    responses += 1;
    const content = blocks.map(toContent);
    const stop_reason = content.some((block) => block.type === "tool_use") ? "tool_use" : "end_turn";
    return {
      id: newId("msg_01"),
      type: "message",
      role: "assistant",
      model: request.model,
      content,
      stop_reason,
      stop_sequence: null,
      usage: inventedUsage(responses),
    };
  };

  const server = createServer(async (incoming, outgoing) => {
    const request = await messagesRequest(incoming);
    if (!request) return sendError(outgoing, 404, "not_found_error", "only POST /v1/messages is here");
    const position = positionOf(request);
    const exchange: Exchange = {
      ...position,
      headers: plain(incoming.headers),
      request,
      status: 200,
      answer: null,
      finished: false,
    };
    exchanges.push(exchange);
    const reply = replyOf(scripts, position, { n: exchanges.length, request });
    if ("error" in reply) {
      exchange.status = reply.error.status;
      return sendError(outgoing, reply.error.status, reply.error.type, reply.error.message);
    }
    if ("afterMs" in reply && reply.afterMs) await sleep(reply.afterMs);
    exchange.answer = makeAnswer(request, "blocks" in reply ? reply.blocks : []);
    outgoing.on("finish", () => {
      exchange.finished = true;
    });
    send(outgoing, exchange.answer, reply, request.stream === true);
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
    close: () => stop(server),
  };
}

async function messagesRequest(incoming: IncomingMessage): Promise<MessagesRequest | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  if (incoming.method !== "POST" || !/\/v1\/messages(\?|$)/.test(incoming.url ?? "")) return null;
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as MessagesRequest;
}

function send(outgoing: ServerResponse, answer: Answer, reply: Reply, asStream: boolean): void {
  if (!asStream) {
    outgoing.writeHead(200, { "content-type": "application/json", "request-id": newId("req_01") });
    outgoing.end(JSON.stringify(answer));
    return;
  }
  outgoing.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    "request-id": newId("req_01"),
  });
  if ("hang" in reply) {
    outgoing.write(opening(answer));
    const pings = setInterval(() => outgoing.write('event: ping\ndata: {"type": "ping"}\n\n'), PING_MS);
    outgoing.on("close", () => clearInterval(pings));
    return;
  }
  for (const piece of streamed(answer)) outgoing.write(piece);
  outgoing.end();
}

function sendError(outgoing: ServerResponse, status: number, type: string, message: string): void {
  outgoing.writeHead(status, { "content-type": "application/json", "request-id": newId("req_01") });
  outgoing.end(JSON.stringify({ type: "error", error: { type, message } }));
}

function toContent(block: Block): ContentBlock {
  if ("tool" in block) return { type: "tool_use", id: newId("toolu_01"), name: block.tool, input: block.input };
  if ("thinking" in block) return { type: "thinking", thinking: block.thinking, signature: "c2ln" };
  return { type: "text", text: block.text };
}

function newId(prefix: string): string {
  return prefix + randomBytes(11).toString("hex");
}

function plain(headers: IncomingMessage["headers"]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
