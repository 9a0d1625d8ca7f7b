/** The same scripts for a replacement of the Gemini API on loopback. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Usage } from "../support/judge.ts";
import { type Block, positionOf, type Reply, replyOf, type Scripts } from "./script.ts";
import { inventedUsage, NO_USAGE } from "./usage.ts";
import type { MessagesRequest } from "./wire.ts";

/** A response of a model, whatever its API: its recipient and its usage. */
export interface Served {
  script: string | null;
  step: number;
  usage: Usage;
  finished: boolean;
}

export interface ServingModel {
  url: string;
  served(): readonly Served[];
  /** The bodies of all requests, as JSON. */
  requests(): readonly string[];
  /** Waits until this step is requested. */
  reached(script: string, step: number): Promise<void>;
  close(): Promise<void>;
}

interface GeminiRequest {
  contents?: { role?: string; parts?: { text?: string }[] }[];
  tools?: unknown[];
}

const PATIENCE_MS = 120_000;

export async function startGeminiModel(scripts: Scripts): Promise<ServingModel> {
  const log: Served[] = [];
  const bodies: string[] = [];
  let responses = 0;
  const server = createServer(async (incoming, outgoing) => {
    const [, method] = /models\/[^:]+:(\w+)/.exec(incoming.url ?? "") ?? [];
    const body = (await bodyOf(incoming)) as GeminiRequest;
    bodies.push(JSON.stringify(body));
    const request = asMessages(body);
    if (method === undefined) return sendJson(outgoing, 404, {});
    if (method === "countTokens") return sendJson(outgoing, 200, { totalTokens: 100 });
    const position = positionOf(request);
    const reply = replyOf(scripts, position, { n: log.length, request });
    const served: Served = { ...position, usage: NO_USAGE, finished: false };
    if (request.tools?.length) log.push(served);
    if ("error" in reply)
      return sendJson(outgoing, reply.error.status, {
        error: { code: reply.error.status, message: reply.error.message, status: "INVALID_ARGUMENT" },
      });
    if ("afterMs" in reply && reply.afterMs) await sleep(reply.afterMs);
    responses += 1;
    const { usage, metadata } = costOf(responses);
    const answer = {
      candidates: [{ index: 0, content: { role: "model", parts: partsOf(reply) }, finishReason: "STOP" }],
      usageMetadata: metadata,
    };
    outgoing.on("finish", () => Object.assign(served, { usage, finished: true }));
    if (method !== "streamGenerateContent") return sendJson(outgoing, 200, answer);
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    outgoing.flushHeaders();
    if (!("hang" in reply)) outgoing.end(`data: ${JSON.stringify(answer)}\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    served: () => log,
    requests: () => bodies,
    async reached(script, step) {
      const deadline = Date.now() + PATIENCE_MS;
      while (!log.some((one) => one.script === script && one.step === step)) {
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

/** The messages, as far as they are needed to find a script. */
function asMessages({ contents = [], tools }: GeminiRequest): MessagesRequest {
  const messages = contents.map(({ role, parts = [] }) => ({
    role: role === "model" ? ("assistant" as const) : ("user" as const),
    content: parts.flatMap(({ text }) => (text === undefined ? [] : [{ type: "text" as const, text }])),
  }));
  return { messages, tools } as unknown as MessagesRequest;
}

/** Unique numbers for each response. The API counts cached input as input, and thoughts in addition to the output. */
function costOf(n: number) {
  const { input_tokens, output_tokens, cache_read_input_tokens } = inventedUsage(n);
  const thoughts = 3 * n;
  const usage: Usage = {
    ...NO_USAGE,
    calls: 1,
    inputTokens: input_tokens,
    outputTokens: output_tokens,
    cacheReadTokens: cache_read_input_tokens,
  };
  const promptTokenCount = input_tokens + cache_read_input_tokens;
  const metadata = {
    promptTokenCount,
    candidatesTokenCount: output_tokens,
    cachedContentTokenCount: cache_read_input_tokens,
    thoughtsTokenCount: thoughts,
    totalTokenCount: promptTokenCount + output_tokens + thoughts,
  };
  return { usage, metadata };
}

function partsOf(reply: Reply) {
  const part = (block: Block) => {
    if ("tool" in block) return { functionCall: { name: block.tool, args: block.input } };
    return "text" in block ? { text: block.text } : { text: block.thinking, thought: true };
  };
  return "blocks" in reply ? reply.blocks.map(part) : [];
}

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8") || "{}");
}

function sendJson(outgoing: ServerResponse, status: number, body: unknown): void {
  outgoing.writeHead(status, { "content-type": "application/json" });
  outgoing.end(JSON.stringify(body));
}
