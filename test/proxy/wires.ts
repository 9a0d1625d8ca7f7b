/**
 * Replays recorded exchanges: a client that sends the product's requests, and an upstream that sends the model's
 * responses.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { FIXTURES, filesBelow } from "../support/fixtures.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

type Json = Record<string, unknown>;

export interface WireExchange {
  readonly n: number;
  readonly t: number | string;
  readonly tEnd?: number | string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly request: Json | null;
  readonly status: number;
  readonly response: Json | null;
  readonly hung?: number;
  readonly served?: string;
}

export function wireOf(provider: string, name: string): WireExchange[] {
  const lines = readFileSync(join(FIXTURES, provider, name, "wire.jsonl"), "utf8")
    .trim()
    .split("\n");
  return lines
    .map((line) => JSON.parse(line) as WireExchange)
    .filter(({ url }) => !/\/v1\/(traces|logs|metrics)/.test(url));
}

const timeOf = (t: number | string) => (typeof t === "number" ? t : Date.parse(t));
/** Never responded to: the client aborted it or was killed. */
const isGivenUp = ({ served }: WireExchange) => served === "hang" || served === "aborted" || served === "partial";

/**
 * As sent by a client that identifies neither itself nor its sessions: no headers of the product, and nothing in the
 * body or in the system prompt.
 */
export const anonymous = (wire: readonly WireExchange[]): WireExchange[] =>
  wire.map((exchange) => ({
    ...exchange,
    headers: { "content-type": "application/json", "user-agent": "some-client/1.0" },
    request: exchange.request && {
      ...exchange.request,
      metadata: {},
      system: "You are an agent.",
      tools: exchange.request.tools,
    },
  }));

export interface ReplayOptions {
  /** Changes the requests of the client. */
  readonly headers?: (headers: Readonly<Record<string, string>>) => Record<string, string>;
}

/**
 * Replays them in the order in which they started and ended. The client aborts requests without a response at the
 * recorded time.
 */
export async function replay(
  wire: readonly WireExchange[],
  proxyUrl: string,
  upstream: Upstream,
  options: ReplayOptions = {},
): Promise<void> {
  const moments = wire.flatMap((exchange) => [
    { at: timeOf(exchange.t), is: "begin" as const, exchange },
    { at: timeOf(exchange.tEnd ?? exchange.t) + 0.5, is: "end" as const, exchange },
  ]);
  moments.sort((a, b) => a.at - b.at);
  const running = new Map<WireExchange, { readonly done: Promise<void>; abort(): void }>();
  for (const { is, exchange } of moments) {
    if (is === "begin") {
      const before = upstream.asked.length;
      running.set(exchange, ask(exchange, proxyUrl, options));
      await upstream.received(before + 1);
      // Recorded times are in milliseconds, and the order of requests with the same time would be undecided.
      for (const arrived = Date.now(); Date.now() <= arrived; ) await turn();
      continue;
    }
    const asked = upstream.asked.findLast((one) => one.mark === String(exchange.n));
    if (asked === undefined) throw new Error(`exchange ${exchange.n} never arrived`);
    if (exchange.hung !== undefined || isGivenUp(exchange)) upstream.open(asked, exchange);
    else upstream.answer(asked, exchange);
    if (exchange.hung !== undefined) continue;
    if (isGivenUp(exchange)) running.get(exchange)?.abort();
    await running.get(exchange)?.done;
    running.delete(exchange);
  }
  for (const { abort, done } of running.values()) {
    abort();
    await done;
  }
}

/** Sets the times in a recording to the original ones, which are taken from the records in a home. */
export function setBack(folder: string, wire: readonly WireExchange[], home: string): void {
  const isSinceStart = typeof wire[0]?.t === "number" && wire[0].t < Date.UTC(2020);
  const began = isSinceStart ? firstTimeIn(home) - timeOf(wire[0]?.t ?? 0) + 20 : 0;
  const marks = new Map<string, WireExchange>();
  for (const name of readdirSync(folder)) {
    const lines = readFileSync(join(folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { at: number; note: Json });
    for (const { note } of lines) {
      const exchange = wire.find(({ n }) => String(n) === (note.headers as Record<string, string> | undefined)?.[MARK]);
      if (note.is === "asked" && exchange !== undefined) marks.set(String(note.request), exchange);
    }
    const moved = lines.map(({ at, note }) => {
      const exchange = marks.get(String(note.request));
      const t = exchange === undefined ? null : note.is === "asked" ? exchange.t : (exchange.tEnd ?? exchange.t);
      return JSON.stringify({ at: t === null ? at : began + timeOf(t), note });
    });
    writeFileSync(join(folder, name), `${moved.join("\n")}\n`);
  }
}

function firstTimeIn(home: string): number {
  const texts = filesBelow(home)
    .filter((path) => path.endsWith(".jsonl"))
    .map((path) => readFileSync(join(home, path), "utf8"));
  const times = texts.flatMap((text) =>
    [...text.matchAll(/"timestamp":"([^"]+)"/g)].map(([, time]) => Date.parse(time ?? "")),
  );
  return Math.min(...times.filter((time) => !Number.isNaN(time)));
}

/** A header that is recorded unchanged. */
export const MARK = "x-correlation-id";

function ask(
  { n, method, url, headers, request: body }: WireExchange,
  proxyUrl: string,
  { headers: change = (all) => ({ ...all }) }: ReplayOptions,
) {
  const text = body === null ? "" : JSON.stringify(body);
  const { host: _, "content-length": __, connection: ___, "transfer-encoding": ____, ...rest } = change(headers ?? {});
  const asking = request(new URL(url, proxyUrl), {
    method,
    headers: { ...rest, [MARK]: String(n), "content-length": Buffer.byteLength(text) },
  });
  const done = new Promise<void>((resolve) => {
    asking.on("response", (response) => {
      response.resume();
      response.on("close", () => resolve());
    });
    asking.on("error", () => resolve());
  });
  asking.end(text);
  return { done, abort: () => asking.destroy() };
}

export { startUpstream };
