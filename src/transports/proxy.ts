import { type ClientRequest, createServer, type IncomingMessage, request as requestPlain, type Server, type ServerResponse } from "node:http";
import { request as requestTls } from "node:https";
import type { AddressInfo } from "node:net";
import { duration } from "../core/format.ts";
import { agentFor } from "./outbound.ts";

/** As it came: names and values in turn, in their order and spelling. */
export type RawHeaders = readonly string[];

export interface AskedHead {
  readonly method: string;
  /** With its query, as the client wrote it. */
  readonly path: string;
  readonly headers: RawHeaders;
  readonly upstream: string;
}

export interface AnsweredHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

/** How an exchange ended. `refused`: it was never passed on. */
export type Ending = { readonly how: "finished" | "aborted" } | { readonly how: "failed" | "timed-out" | "refused"; readonly error: string };

/** Looks on while bytes go by; each is passed on before it is told of. What it does can neither hold up nor change anything. */
export interface ExchangeWitness {
  asked(chunk: Uint8Array): void;
  askedAll(): void;
  answered(head: AnsweredHead): void;
  answer(chunk: Uint8Array): void;
  ended(ending: Ending): void;
}

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** The path to pass a request on with, or why it is not even looked at. */
export type Admission = { readonly path: string } | { readonly status: number; readonly words: string };

export interface ProxyOptions {
  readonly port: number;
  readonly host: string;
  /** Whether the client may use the proxy at all. Everybody may where nobody says otherwise. */
  admits?(incoming: IncomingMessage): Promise<Admission>;
  /** Where a request goes: never to a place that the request itself names. */
  upstreamFor(method: string, path: string, headers: RawHeaders): URL;
  /** An HTTP proxy on the way to it. */
  readonly via: URL | null;
  /** How long the upstream may be silent. */
  readonly silenceMs: number;
  begin(head: AskedHead): ExchangeWitness;
  /** Whether the request may be passed on. */
  refuses?(head: AskedHead): Refusal | null;
  /** The answer where the upstream gave none, in the words of its API. */
  failure(status: number, words: string): string;
  /** Something is wrong with ourselves. */
  onTrouble(error: Error): void;
}

export interface RunningProxy {
  readonly url: string;
  /** Lets what runs come to its end, but not for longer than this. */
  stop(graceMs: number): Promise<void>;
}

/** Of each connection, not of the message. */
const OF_THE_HOP = new Set(["connection", "keep-alive", "proxy-connection", "host"]);
const IDLE_CLIENT_MS = 75_000;

/** A reverse proxy: passes every request to its upstream and every answer back, byte by byte. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const receive = (incoming: IncomingMessage, outgoing: ServerResponse) => void admit(incoming, outgoing, options);
  const server = createServer(receive);
  server.on("checkContinue", receive);
  server.on("connect", (_, socket) => socket.end("HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"));
  server.on("upgrade", (_, socket) => socket.end("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"));
  server.on("clientError", (_, socket) => socket.destroy());
  // A long upload or a long silence is the upstream's business, and the client's.
  Object.assign(server, { requestTimeout: 0, timeout: 0, keepAliveTimeout: IDLE_CLIENT_MS });
  await listening(server, options);
  const { port, address, family } = server.address() as AddressInfo;
  return { url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`, stop: (graceMs) => stop(server, graceMs) };
}

const listening = (server: Server, { port, host }: ProxyOptions) =>
  new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });

function stop(server: Server, graceMs: number): Promise<void> {
  const late = setTimeout(() => server.closeAllConnections(), graceMs);
  return new Promise((resolve) => {
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
  });
}

async function admit(incoming: IncomingMessage, outgoing: ServerResponse, options: ProxyOptions): Promise<void> {
  const admission = (await options.admits?.(incoming)) ?? { path: incoming.url ?? "/" };
  // The client may have gone while we asked.
  if (outgoing.destroyed) return;
  if ("status" in admission) {
    outgoing.setHeader("connection", "close");
    answer(outgoing, admission.status, options.failure(admission.status, admission.words));
    return;
  }
  incoming.url = admission.path;
  pass(incoming, outgoing, options);
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, options: ProxyOptions): void {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  if (!url.startsWith("/")) {
    answer(outgoing, 400, options.failure(400, "this proxy leads to its own upstream and nowhere else"));
    return;
  }
  const upstream = options.upstreamFor(method, url, rawHeaders);
  const head: AskedHead = { method, path: url, headers: rawHeaders, upstream: upstream.href };
  const witness = discreet(options.begin(head), options.onTrouble);
  const refusal = options.refuses?.(head) ?? null;
  if (refusal !== null) {
    refuse(incoming, outgoing, refusal, witness);
    return;
  }
  let ending: Ending | null = null;
  const end = (how: Ending) => {
    ending ??= how;
  };
  const sent = new Sent();
  let up = ask(incoming, upstream, options, false);
  const listen = (asking: ClientRequest) => {
    asking.on("drain", () => incoming.resume());
    asking.on("continue", () => outgoing.writeContinue());
    asking.setTimeout(options.silenceMs, () => {
      end({ how: "timed-out", error: `the upstream was silent for ${duration(options.silenceMs)}` });
      asking.destroy(new Error("silent for too long"));
    });
    asking.on("response", (response) => {
      sent.forget();
      relay(response, outgoing, witness, end);
    });
    asking.on("error", (error: NodeJS.ErrnoException) => {
      if (asking.reusedSocket && ending === null && !outgoing.destroyed && LOST_CONNECTION.has(error.code ?? "") && sent.isKnown) {
        up = ask(incoming, upstream, options, true);
        listen(up);
        sent.again(up);
        incoming.resume();
        return;
      }
      end({ how: "failed", error: error.message });
      if (outgoing.headersSent || outgoing.destroyed) outgoing.destroy();
      else if (ending?.how === "timed-out") answer(outgoing, 504, options.failure(504, `${upstream.host} did not answer in time`));
      else answer(outgoing, 502, options.failure(502, `${upstream.host} cannot be reached: ${error.message}`));
    });
  };
  listen(up);
  incoming.on("data", (chunk: Buffer) => {
    sent.keep(chunk);
    if (!up.write(chunk)) incoming.pause();
    witness.asked(chunk);
  });
  incoming.on("end", () => {
    sent.end(pairs(incoming.rawTrailers), up);
    witness.askedAll();
  });
  outgoing.on("close", () => {
    if (!outgoing.writableFinished) {
      end({ how: "aborted" });
      up.destroy();
    }
    witness.ended(ending ?? { how: "finished" });
  });
  // Its end is told by the response's.
  incoming.on("error", () => {});
}

/** How it shows that an upstream closed an idle connection at the very moment we used it again: it never saw the request. */
const LOST_CONNECTION = new Set(["ECONNRESET", "EPIPE"]);
const MAX_SENT = 48 << 20;

/** What was sent so far, until the answer begins: it may have to be sent again. */
class Sent {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #trailers: [string, string][] | null = null;
  isKnown = true;

  keep(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_SENT) this.forget();
    if (this.isKnown) this.#chunks.push(chunk);
  }

  end(trailers: [string, string][], up: ClientRequest): void {
    this.#trailers = trailers;
    finish(up, trailers);
  }

  again(up: ClientRequest): void {
    for (const chunk of this.#chunks) up.write(chunk);
    if (this.#trailers !== null) finish(up, this.#trailers);
  }

  forget(): void {
    this.isKnown = false;
    this.#chunks = [];
  }
}

function finish(up: ClientRequest, trailers: [string, string][]): void {
  if (trailers.length > 0) up.addTrailers(trailers);
  up.end();
}

/** `fresh`: over a connection that nobody used before. */
function ask(incoming: IncomingMessage, upstream: URL, { via }: ProxyOptions, fresh: boolean): ClientRequest {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const path = upstream.pathname.replace(/\/$/, "") + url;
  const { agent, path: target, proxyHeaders } = agentFor(upstream, path, via, fresh);
  const to = via !== null && upstream.protocol === "http:" ? via : upstream;
  const request = upstream.protocol === "https:" ? requestTls : requestPlain;
  return request({
    method,
    path: target,
    host: to.hostname.replace(/^\[|\]$/g, ""),
    port: to.port || (to.protocol === "https:" ? 443 : 80),
    agent,
    servername: upstream.hostname,
    // A list is sent as it is: nothing is added, sorted or put into small letters.
    headers: ["Host", upstream.host, ...proxyHeaders, ...withoutHop(rawHeaders)],
  });
}

function relay(response: IncomingMessage, outgoing: ServerResponse, witness: ExchangeWitness, end: (ending: Ending) => void): void {
  const status = response.statusCode ?? 502;
  outgoing.sendDate = false;
  outgoing.writeHead(status, response.statusMessage ?? "", withoutHop(response.rawHeaders) as string[]);
  // The first bytes may be long in coming.
  outgoing.flushHeaders();
  witness.answered({ status, headers: response.rawHeaders });
  response.on("data", (chunk: Buffer) => {
    if (!outgoing.write(chunk)) response.pause();
    witness.answer(chunk);
  });
  outgoing.on("drain", () => response.resume());
  response.on("end", () => {
    if (response.rawTrailers.length > 0) outgoing.addTrailers(pairs(response.rawTrailers));
    outgoing.end();
  });
  response.on("close", () => {
    if (response.complete) return;
    end({ how: "failed", error: "the upstream cut its answer off" });
    outgoing.destroy();
  });
  // What is cut off ends with `close`.
  response.on("error", () => {});
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, { status, body }: Refusal, witness: ExchangeWitness): void {
  incoming.on("data", (chunk: Buffer) => witness.asked(chunk));
  incoming.on("end", () => {
    witness.askedAll();
    answer(outgoing, status, body);
    witness.answered({ status, headers: ["content-type", "application/json"] });
    witness.answer(Buffer.from(body));
  });
  outgoing.on("close", () => witness.ended({ how: "refused", error: "a budget is used up" }));
}

function answer(outgoing: ServerResponse, status: number, body: string): void {
  outgoing.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  outgoing.end(body);
}

/** A witness that fails is told of, and otherwise not missed. */
function discreet(witness: ExchangeWitness, onTrouble: (error: Error) => void): ExchangeWitness {
  const quietly =
    <T extends readonly unknown[]>(tell: (...args: T) => void) =>
    (...args: T) => {
      try {
        tell(...args);
      } catch (error) {
        onTrouble(error as Error);
      }
    };
  return {
    asked: quietly((chunk) => witness.asked(chunk)),
    askedAll: quietly(() => witness.askedAll()),
    answered: quietly((head) => witness.answered(head)),
    answer: quietly((chunk) => witness.answer(chunk)),
    ended: quietly((ending) => witness.ended(ending)),
  };
}

const pairs = (raw: RawHeaders): [string, string][] => raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1] ?? ""] as [string, string]] : []));
const withoutHop = (raw: RawHeaders): RawHeaders => pairs(raw).flatMap(([name, value]) => (OF_THE_HOP.has(name.toLowerCase()) ? [] : [name, value]));
