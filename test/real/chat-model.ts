/**
 * A scripted model with the chat-completions protocol, for products that support any vendor.
 * A prompt contains a marker `@@name`; the last one names the script, and the number of responses since then is the
 * step, so that no state is kept.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { KnownUsage } from "../support/judge.ts";

export interface ChatTurn {
  text?: string;
  tools?: { name: string; args: Record<string, unknown> }[];
  /** Responds with an HTTP error instead. */
  status?: number;
  /** The response starts and never continues, until the client disconnects. */
  hang?: true;
}

export type ChatScripts = Record<string, ChatTurn[]>;

export interface ChatModel {
  url: string;
  /** What was served completely, by script. */
  served: ReadonlyMap<string, Required<Pick<KnownUsage, "calls" | "inputTokens" | "outputTokens" | "cacheReadTokens">>>;
  /** The bodies of all requests, as JSON. */
  requests(): readonly string[];
  reached(script: string, step: number): Promise<void>;
  close(): void;
}

interface ChatRequest {
  model: string;
  messages: { role: string; content: string | { text?: string }[] | null }[];
  tools?: unknown[];
  tool_choice?: unknown;
}

const MARKER = /@@([A-Za-z0-9_-]+)/g;
const textOf = (content: ChatRequest["messages"][number]["content"]) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("\n");

function positionIn({ messages }: ChatRequest): { script: string; step: number } {
  let position = { script: "", step: 0 };
  for (const { role, content } of messages) {
    const marker = role === "user" ? [...textOf(content).matchAll(MARKER)].at(-1)?.[1] : undefined;
    if (marker !== undefined) position = { script: marker, step: 0 };
    else if (role === "assistant") position = { ...position, step: position.step + 1 };
  }
  return position;
}

export async function startChatModel(scripts: ChatScripts): Promise<ChatModel> {
  const served = new Map<
    string,
    { calls: number; inputTokens: number; outputTokens: number; cacheReadTokens: number }
  >();
  const waiting: { at: string; resolve: () => void }[] = [];
  const seen = new Set<string>();
  const bodies: string[] = [];
  let asked = 0;

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    // Droid also sends requests to its vendor.
    if (request.url?.endsWith("/chat/completions") !== true) {
      response.writeHead(404).end();
      return;
    }
    const text = await textIn(request);
    bodies.push(text);
    const body = JSON.parse(text) as ChatRequest;
    const { script, step } = positionIn(body);
    asked += 1;
    const n = asked;
    // Small internal requests of the product, such as for titles, offer no choice of tools; Grok marks its summaries.
    const isOwn =
      body.tools === undefined ||
      body.tools.length === 0 ||
      typeof body.tool_choice === "object" ||
      /^xai-/.test(`${request.headers["x-grok-req-id"] ?? ""}`);
    const turn = isOwn ? { text: "A title" } : (scripts[script]?.[step] ?? { text: "nothing to say" });
    seen.add(`${script} ${step}`);
    for (const { at, resolve } of waiting) if (seen.has(at)) resolve();
    if (turn.status !== undefined) {
      response
        .writeHead(turn.status, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: `scripted ${turn.status}` } }));
      return;
    }
    // Every response has unique numbers, so that no two agents have the same sums by chance.
    const usage = { prompt: 1_000 + 7 * n, cached: 100 + n, completion: 20 + 3 * n, reasoning: n };
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta: object, finish: string | null = null, more: object = {}) =>
      response.write(
        `data: ${JSON.stringify({ id: `chat-${n}`, object: "chat.completion.chunk", created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`,
      );
    send({ role: "assistant", content: turn.text ?? "" });
    if (turn.hang) return;
    for (const [index, { name, args }] of (turn.tools ?? []).entries())
      send({
        tool_calls: [
          { index, id: `call_${n}_${index}`, type: "function", function: { name, arguments: JSON.stringify(args) } },
        ],
      });
    send({}, turn.tools === undefined ? "stop" : "tool_calls", {
      usage: {
        prompt_tokens: usage.prompt,
        completion_tokens: usage.completion,
        total_tokens: usage.prompt + usage.completion,
        prompt_tokens_details: { cached_tokens: usage.cached },
        completion_tokens_details: { reasoning_tokens: usage.reasoning },
      },
    });
    response.end("data: [DONE]\n\n");
    if (isOwn) return;
    const sum = served.get(script) ?? { calls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };
    served.set(script, {
      calls: sum.calls + 1,
      inputTokens: sum.inputTokens + usage.prompt - usage.cached,
      outputTokens: sum.outputTokens + usage.completion,
      cacheReadTokens: sum.cacheReadTokens + usage.cached,
    });
  };

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    served,
    requests: () => bodies,
    reached: (script, step) =>
      new Promise((resolve) => {
        if (seen.has(`${script} ${step}`)) resolve();
        else waiting.push({ at: `${script} ${step}`, resolve });
      }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function textIn(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}
