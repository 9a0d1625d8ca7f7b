import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request as requestPlain,
  type Server,
  type ServerResponse,
} from "node:http";
import { request as requestTls } from "node:https";
import type { AddressInfo } from "node:net";
import { duration } from "../core/tools/format.ts";
import { agentFor } from "./outbound.ts";

/** As received: names and values alternating, in their order and spelling. */
export type RawHeaders = readonly string[];

export interface RequestHead {
  readonly method: string;
  /** With its query, as the client wrote it. */
  readonly path: string;
  readonly headers: RawHeaders;
  readonly upstream: string;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

/** How an exchange ended. `refused`: it was not forwarded. */
export type Ending =
  | { readonly how: "finished" | "aborted" }
  | { readonly how: "failed" | "timed-out" | "refused"; readonly error: string };

/**
 * Observes an exchange. Each chunk is forwarded before it is passed on; the observer can neither delay nor change it.
 */
export interface ExchangeObserver {
  requestChunk(chunk: Uint8Array): void;
  requestEnd(): void;
  responseHead(head: ResponseHead): void;
  responseChunk(chunk: Uint8Array): void;
  ended(ending: Ending): void;
}

export interface Refusal {
  readonly status: number;
  readonly body: string;
}

/** The path to forward a request with, or why it is rejected. */
export type Admission = { readonly path: string } | { readonly status: number; readonly message: string };

export interface ProxyOptions {
  readonly port: number;
  readonly host: string;
  /** Whether the client may use the proxy. Default: every client. */
  admits?(incoming: IncomingMessage): Promise<Admission>;
  /** The upstream of a request; never derived from the request's own URL. */
  upstreamFor(method: string, path: string, headers: RawHeaders): URL;
  /** An HTTP proxy to reach the upstream. */
  readonly via: URL | null;
  /** Maximum time without data from the upstream. */
  readonly silenceMs: number;
  begin(head: RequestHead): ExchangeObserver;
  /** Whether the request may be forwarded. */
  refuses?(head: RequestHead): Refusal | null;
  /** The body of an error response, in the format of the API. */
  failure(status: number, text: string): string;
  /** Called for errors of the proxy itself. */
  onTrouble(error: Error): void;
}

export interface RunningProxy {
  readonly url: string;
  /** Waits for running exchanges, up to this time. */
  stop(graceMs: number): Promise<void>;
}

/** Headers of one connection, which are not forwarded. `host` is replaced by that of the upstream. */
const HOP_BY_HOP = new Set(["connection", "keep-alive", "proxy-connection", "host"]);
const IDLE_CLIENT_MS = 75_000;
/** Bytes that may wait for a client before the upstream is paused: several reads of a socket. */
const MAX_UNSENT = 256 << 10;

/** A reverse proxy: forwards every request and response unchanged. */
export async function startProxy(options: ProxyOptions): Promise<RunningProxy> {
  const receive = (incoming: IncomingMessage, outgoing: ServerResponse) => void admit(incoming, outgoing, options);
  const server = createServer({ highWaterMark: MAX_UNSENT }, receive);
  server.on("checkContinue", receive);
  server.on("connect", (_, socket) => socket.end("HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n"));
  server.on("upgrade", (_, socket) =>
    socket.end("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
  );
  server.on("clientError", (_, socket) => socket.destroy());
  // Timeouts of long uploads and idle streams are up to the upstream and the client.
  Object.assign(server, { requestTimeout: 0, timeout: 0, keepAliveTimeout: IDLE_CLIENT_MS });
  await listening(server, options);
  const { port, address, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    stop: (graceMs) => stop(server, graceMs),
  };
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
  // The client may have disconnected in the meantime.
  if (outgoing.destroyed) return;
  if ("status" in admission) {
    outgoing.setHeader("connection", "close");
    respond(outgoing, admission.status, options.failure(admission.status, admission.message));
    return;
  }
  incoming.url = admission.path;
  pass(incoming, outgoing, options);
}

function pass(incoming: IncomingMessage, outgoing: ServerResponse, options: ProxyOptions): void {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  if (!url.startsWith("/")) {
    respond(outgoing, 400, options.failure(400, "this proxy forwards to its own upstream only"));
    return;
  }
  const upstream = options.upstreamFor(method, url, rawHeaders);
  const head: RequestHead = { method, path: url, headers: rawHeaders, upstream: upstream.href };
  const observer = guarded(options.begin(head), options.onTrouble);
  const refusal = options.refuses?.(head) ?? null;
  if (refusal !== null) {
    refuse(incoming, outgoing, refusal, observer);
    return;
  }
  new Forwarding(incoming, outgoing, upstream, observer, options).start();
}

/** Forwards one request to its upstream, and the response to the client. */
class Forwarding {
  readonly #incoming: IncomingMessage;
  readonly #outgoing: ServerResponse;
  readonly #upstream: URL;
  readonly #observer: ExchangeObserver;
  readonly #options: ProxyOptions;
  readonly #sent = new SentRequest();
  #request: ClientRequest;
  #ending: Ending | null = null;

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    upstream: URL,
    observer: ExchangeObserver,
    options: ProxyOptions,
  ) {
    this.#incoming = incoming;
    this.#outgoing = outgoing;
    this.#upstream = upstream;
    this.#observer = observer;
    this.#options = options;
    this.#request = this.#connect(false);
  }

  start(): void {
    const [incoming, outgoing, observer] = [this.#incoming, this.#outgoing, this.#observer];
    incoming.on("data", (chunk: Buffer) => {
      this.#sent.add(chunk);
      if (!this.#request.write(chunk)) incoming.pause();
      observer.requestChunk(chunk);
    });
    incoming.on("end", () => {
      this.#sent.end(pairs(incoming.rawTrailers), this.#request);
      observer.requestEnd();
    });
    outgoing.on("close", () => {
      if (!outgoing.writableFinished) {
        this.#end({ how: "aborted" });
        this.#request.destroy();
      }
      observer.ended(this.#ending ?? { how: "finished" });
    });
    // The end is reported by the response.
    incoming.on("error", () => {});
  }

  /** The first ending counts: later errors are its consequences. */
  #end(ending: Ending): void {
    this.#ending ??= ending;
  }

  #connect(isFresh: boolean): ClientRequest {
    const { silenceMs } = this.#options;
    const request = openUpstream(this.#incoming, this.#upstream, this.#options, isFresh);
    request.on("drain", () => this.#incoming.resume());
    request.on("continue", () => this.#outgoing.writeContinue());
    request.setTimeout(silenceMs, () => {
      this.#end({ how: "timed-out", error: `no data from the upstream for ${duration(silenceMs)}` });
      request.destroy(new Error("upstream timeout"));
    });
    request.on("response", (response) => {
      this.#sent.drop();
      relay(response, this.#outgoing, this.#observer, (ending) => this.#end(ending));
    });
    request.on("error", (error: NodeJS.ErrnoException) => {
      if (this.#mayRetry(request, error)) this.#retry();
      else this.#fail(error);
    });
    return request;
  }

  /** The upstream closed a keep-alive connection just as it was reused, so it did not process the request. */
  #mayRetry(request: ClientRequest, { code }: NodeJS.ErrnoException): boolean {
    return (
      request.reusedSocket &&
      this.#ending === null &&
      !this.#outgoing.destroyed &&
      LOST_CONNECTION.has(code ?? "") &&
      this.#sent.isComplete
    );
  }

  #retry(): void {
    this.#request = this.#connect(true);
    this.#sent.replay(this.#request);
    this.#incoming.resume();
  }

  #fail({ message }: Error): void {
    const { host } = this.#upstream;
    const failure = (status: number, text: string) => this.#options.failure(status, text);
    this.#end({ how: "failed", error: message });
    if (this.#outgoing.headersSent || this.#outgoing.destroyed) this.#outgoing.destroy();
    else if (this.#ending?.how === "timed-out")
      respond(this.#outgoing, 504, failure(504, `${host} did not respond in time`));
    else respond(this.#outgoing, 502, failure(502, `${host} cannot be reached: ${message}`));
  }
}

/** Errors of a connection that its peer has closed. */
const LOST_CONNECTION = new Set(["ECONNRESET", "EPIPE"]);
/** Longer request bodies are not kept for a retry. */
const MAX_SENT = 48 << 20;

/** The request sent so far, kept until the response begins: it may have to be sent again. */
class SentRequest {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #trailers: [string, string][] | null = null;
  /** False once the chunks were dropped. */
  isComplete = true;

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_SENT) this.drop();
    if (this.isComplete) this.#chunks.push(chunk);
  }

  end(trailers: [string, string][], up: ClientRequest): void {
    this.#trailers = trailers;
    finish(up, trailers);
  }

  replay(up: ClientRequest): void {
    for (const chunk of this.#chunks) up.write(chunk);
    if (this.#trailers !== null) finish(up, this.#trailers);
  }

  drop(): void {
    this.isComplete = false;
    this.#chunks = [];
  }
}

function finish(up: ClientRequest, trailers: [string, string][]): void {
  if (trailers.length > 0) up.addTrailers(trailers);
  up.end();
}

/** `isFresh`: on a new connection. */
function openUpstream(
  incoming: IncomingMessage,
  upstream: URL,
  { via }: ProxyOptions,
  isFresh: boolean,
): ClientRequest {
  const { method = "GET", url = "/", rawHeaders } = incoming;
  const path = upstream.pathname.replace(/\/$/, "") + url;
  const { agent, path: target, proxyHeaders } = agentFor(upstream, path, via, isFresh);
  const to = via !== null && upstream.protocol === "http:" ? via : upstream;
  const request = upstream.protocol === "https:" ? requestTls : requestPlain;
  return request({
    method,
    path: target,
    host: to.hostname.replace(/^\[|\]$/g, ""),
    port: to.port || (to.protocol === "https:" ? 443 : 80),
    agent,
    servername: upstream.hostname,
    // As a list, headers are sent unchanged: not added to, sorted or lower-cased.
    headers: ["Host", upstream.host, ...proxyHeaders, ...endToEnd(rawHeaders)],
  });
}

function relay(
  response: IncomingMessage,
  outgoing: ServerResponse,
  observer: ExchangeObserver,
  end: (ending: Ending) => void,
): void {
  const status = response.statusCode ?? 502;
  outgoing.sendDate = false;
  outgoing.writeHead(status, response.statusMessage ?? "", endToEnd(response.rawHeaders));
  observer.responseHead({ status, headers: response.rawHeaders });
  let chunks: Buffer[] = [];
  let isPlanned = false;
  const forward = () => {
    const gathered = chunks;
    [chunks, isPlanned] = [[], false];
    // The first chunk may take long.
    if (gathered.length === 0 && !outgoing.writableEnded) outgoing.flushHeaders();
    if (gathered.length > 0 && !writeTogether(outgoing, gathered)) response.pause();
    for (const chunk of gathered) observer.responseChunk(chunk);
  };
  // The head and the chunks that are read in one turn of the event loop are forwarded together.
  const plan = () => {
    if (!isPlanned) setImmediate(forward);
    isPlanned = true;
  };
  response.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    plan();
  });
  plan();
  outgoing.on("drain", () => response.resume());
  response.on("end", () => {
    if (chunks.length > 0) forward();
    if (response.rawTrailers.length > 0) outgoing.addTrailers(pairs(response.rawTrailers));
    outgoing.end();
  });
  response.on("close", () => {
    if (response.complete) return;
    if (chunks.length > 0) forward();
    end({ how: "failed", error: "the upstream closed the connection during its response" });
    outgoing.destroy();
  });
  // A truncated response ends with `close`.
  response.on("error", () => {});
}

/**
 * Writes chunks with one system call. All but the last one become one chunk, because only a write outside of `cork`
 * reports whether the client keeps up. Returns false if the client must read first; `drain` follows.
 */
function writeTogether(outgoing: ServerResponse, chunks: readonly Buffer[]): boolean {
  const { socket } = outgoing;
  socket?.cork();
  outgoing.cork();
  for (const chunk of chunks.slice(0, -1)) outgoing.write(chunk);
  outgoing.uncork();
  const keepsUp = chunks.slice(-1).every((chunk) => outgoing.write(chunk));
  socket?.uncork();
  return keepsUp;
}

/** Reads the request to its end for the observer, then responds without forwarding it. */
function refuse(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, body }: Refusal,
  observer: ExchangeObserver,
): void {
  incoming.on("data", (chunk: Buffer) => observer.requestChunk(chunk));
  incoming.on("end", () => {
    observer.requestEnd();
    respond(outgoing, status, body);
    observer.responseHead({ status, headers: ["content-type", "application/json"] });
    observer.responseChunk(Buffer.from(body));
  });
  outgoing.on("close", () => observer.ended({ how: "refused", error: "a budget is used up" }));
}

function respond(outgoing: ServerResponse, status: number, body: string): void {
  outgoing.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  outgoing.end(body);
}

/** Reports errors of the observer; never throws. */
function guarded(observer: ExchangeObserver, onTrouble: (error: Error) => void): ExchangeObserver {
  const reportingErrors =
    <T extends readonly unknown[]>(call: (...args: T) => void) =>
    (...args: T) => {
      try {
        call(...args);
      } catch (error) {
        onTrouble(error as Error);
      }
    };
  return {
    requestChunk: reportingErrors((chunk) => observer.requestChunk(chunk)),
    requestEnd: reportingErrors(() => observer.requestEnd()),
    responseHead: reportingErrors((head) => observer.responseHead(head)),
    responseChunk: reportingErrors((chunk) => observer.responseChunk(chunk)),
    ended: reportingErrors((ending) => observer.ended(ending)),
  };
}

const pairs = (raw: RawHeaders): [string, string][] =>
  raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1] ?? ""] as [string, string]] : []));

/** The headers without those of one connection. */
function endToEnd(raw: RawHeaders): string[] {
  const forwarded: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name, value] = [raw[i] ?? "", raw[i + 1] ?? ""];
    if (!HOP_BY_HOP.has(name.toLowerCase())) forwarded.push(name, value);
  }
  return forwarded;
}
