/** A fake API on loopback that responds on command. */
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Answer, opening, streamed } from "../real/wire.ts";
import { MARK, type WireExchange } from "./wires.ts";

export interface Asked {
  readonly mark: string;
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
}

export interface Upstream {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** Resolves once this many requests have arrived. */
  received(count: number): Promise<void>;
  answer(asked: Asked, exchange: WireExchange): void;
  /** Starts to respond, and never continues. */
  open(asked: Asked, exchange: WireExchange): void;
  close(): Promise<void>;
}

const PATIENCE_MS = 60_000;

/** `respond` responds immediately, instead of waiting for `answer`. */
export async function startUpstream(respond?: (asked: Asked) => void): Promise<Upstream> {
  const asked: Asked[] = [];
  const arrivals = new EventEmitter();
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const one = { mark: String(incoming.headers[MARK] ?? ""), incoming, outgoing, body: Buffer.concat(chunks) };
      asked.push(one);
      arrivals.emit("request");
      respond?.(one);
    });
    incoming.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async received(count) {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      while (asked.length < count) await once(arrivals, "request", { signal });
    },
    answer: ({ outgoing }, exchange) => answer(outgoing, exchange),
    open: ({ outgoing }, { url, response }) => {
      outgoing.writeHead(200, { "content-type": "text/event-stream" });
      if (url.includes("/chat/completions"))
        outgoing.write(
          chatEvent({
            id: "chat-held",
            object: "chat.completion.chunk",
            choices: [{ index: 0, delta: { role: "assistant", content: "" } }],
          }),
        );
      else if (!url.includes("/responses")) outgoing.write(opening({ ...HELD, ...response } as unknown as Answer));
      else if (response !== null) outgoing.write(responsesEvent({ type: "response.created", response }));
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const HELD = { id: "msg_held", model: "held", usage: {}, content: [] };

function answer(outgoing: ServerResponse, { status, response, request, url, served }: WireExchange): void {
  const isStream = request?.stream === true && status === 200 && response !== null;
  outgoing.writeHead(status, { "content-type": isStream ? "text/event-stream" : "application/json" });
  if (!isStream) outgoing.write(response === null ? "" : JSON.stringify(response));
  else if (url.includes("/chat/completions")) for (const piece of chatEvents(response)) outgoing.write(piece);
  else if (url.includes("/responses"))
    for (const piece of responsesEvents(response, served === "error")) outgoing.write(piece);
  else for (const piece of streamed(response as unknown as Answer)) outgoing.write(piece);
  outgoing.end();
}

const responsesEvent = (data: { readonly type: string; readonly [more: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;

function* responsesEvents(response: Readonly<Record<string, unknown>>, isFailure: boolean): Generator<string> {
  yield responsesEvent({
    type: "response.created",
    response: { id: response.id, model: response.model, status: "in_progress" },
  });
  for (const [output_index, item] of ((response.output ?? []) as unknown[]).entries())
    yield responsesEvent({ type: "response.output_item.done", output_index, item });
  yield responsesEvent({ type: isFailure ? "response.failed" : "response.completed", response });
}

const chatEvent = (data: object) => `data: ${JSON.stringify(data)}\n\n`;

interface ChatMessage {
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** As OpenAI streams it: texts and arguments in pieces, calls by their index, and the usage last in its own chunk. */
function* chatEvents({ id, model, choices, usage }: Readonly<Record<string, unknown>>): Generator<string> {
  const chunk = (list: readonly object[], more: object = {}) =>
    chatEvent({ id, object: "chat.completion.chunk", model, choices: list, ...more });
  for (const { index, message, finish_reason } of choices as {
    index: number;
    message: ChatMessage;
    finish_reason: string;
  }[]) {
    yield chunk([{ index, delta: { role: "assistant", content: "" }, finish_reason: null }]);
    for (const piece of halves(message.content ?? ""))
      yield chunk([{ index, delta: { content: piece }, finish_reason: null }]);
    for (const [n, call] of (message.tool_calls ?? []).entries()) {
      const [first = "", second = ""] = halves(call.function.arguments);
      yield chunk([
        {
          index,
          delta: {
            tool_calls: [
              { index: n, id: call.id, type: "function", function: { name: call.function.name, arguments: first } },
            ],
          },
        },
      ]);
      yield chunk([{ index, delta: { tool_calls: [{ index: n, function: { arguments: second } }] } }]);
    }
    yield chunk([{ index, delta: {}, finish_reason }]);
  }
  yield chunk([], { usage });
  yield "data: [DONE]\n\n";
}

const halves = (text: string) =>
  [text.slice(0, Math.ceil(text.length / 2)), text.slice(Math.ceil(text.length / 2))].filter((half) => half !== "");
