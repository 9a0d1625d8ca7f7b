import { createParser } from "eventsource-parser";
import { duration } from "../core/tools/format.ts";
import { parseJsonWithin } from "../core/tools/json-within.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_RECORD } from "../core/tools/limits.ts";
import { readBody } from "./bounded.ts";

const RESPONSE_MS = 30_000;
/** A server that has just started may never respond to the first request. */
const OPEN_MS = 10_000;

export interface Server {
  readonly url: URL;
  /** Kept in memory only. */
  readonly authorization: string | null;
}

/** The server refused the request, or returned something other than a stream. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

/**
 * The data of each event of an SSE stream. Ends when the server closes it; throws on a connection error or timeout. An
 * incomplete event is dropped.
 */
export async function* readEventStream(
  server: Server,
  path: string,
  {
    signal,
    silenceMs,
    onOpen,
  }: { readonly signal: AbortSignal; readonly silenceMs: number; readonly onOpen: () => void },
): AsyncGenerator<readonly string[]> {
  const dead = new AbortController();
  const abortAfter = (ms: number) => setTimeout(() => dead.abort(new Error(`no data for ${duration(ms)}`)), ms);
  let timer = abortAfter(Math.min(OPEN_MS, silenceMs));
  const alive = () => {
    clearTimeout(timer);
    timer = abortAfter(silenceMs);
  };
  try {
    const response = await fetch(at(server, path), {
      headers: { Accept: "text/event-stream", ...authorized(server) },
      redirect: "manual",
      signal: AbortSignal.any([signal, dead.signal]),
    });
    if (response.status !== 200 || response.body === null) {
      await response.body?.cancel();
      throw new Refused(response.status, refusal(response.status));
    }
    if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
      await response.body.cancel();
      throw new Refused(response.status, "the response is not an event stream");
    }
    onOpen();
    alive();
    let events: string[] = [];
    let broken: Error | null = null;
    const parser = createParser({
      maxBufferSize: MAX_RECORD,
      onEvent: ({ data }) => void events.push(data),
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") broken = error;
      },
    });
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      alive();
      parser.feed(text);
      if (events.length > 0) yield events;
      events = [];
      if (broken !== null) throw broken as Error;
    }
  } finally {
    clearTimeout(timer);
  }
}

/** Used as the status of a response that is too large. */
const TOO_LARGE = { status: 413, body: null };

/** The JSON response of a route; null if there is none. `TOO_LARGE` if it is larger than any record. */
export async function fetchJson(
  server: Server,
  path: string,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: unknown } | null> {
  try {
    const response = await fetch(at(server, path), {
      headers: { Accept: "application/json", ...authorized(server) },
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(RESPONSE_MS)]),
    });
    const { bytes, isWhole } = await readBody(response.body, MAX_RECORD);
    return isWhole ? { status: response.status, body: jsonIn(new TextDecoder().decode(bytes)) } : TOO_LARGE;
  } catch {
    // Unreachable or too slow; the caller retries.
    return null;
  }
}

/** The status of the response; null if there is none. */
export async function postJson(server: Server, path: string, body: object): Promise<number | null> {
  try {
    const response = await fetch(at(server, path), {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json", ...authorized(server) },
      body: JSON.stringify(body),
      redirect: "manual",
      signal: AbortSignal.timeout(RESPONSE_MS),
    });
    await response.body?.cancel();
    return response.status;
  } catch {
    // Unreachable or too slow.
    return null;
  }
}

/** Null if the text is not JSON, or exceeds the limits of depth and number of values. */
function jsonIn(text: string): unknown {
  try {
    return parseJsonWithin(text, { depth: MAX_JSON_DEPTH, values: MAX_JSON_VALUES });
  } catch {
    return null;
  }
}

function at({ url }: Server, path: string): URL {
  const [route = "", query = ""] = path.split("?");
  const whole = new URL(url);
  whole.pathname = `${url.pathname.replace(/\/+$/, "")}${route}`;
  whole.search = query;
  return whole;
}

const authorized = ({ authorization }: Server): Record<string, string> =>
  authorization === null ? {} : { Authorization: authorization };

function refusal(status: number): string {
  if (status === 401 || status === 403) return "the password is missing or wrong";
  return `it returned status ${status}`;
}
