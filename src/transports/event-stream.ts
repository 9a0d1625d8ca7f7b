import { createParser } from "eventsource-parser";
import { duration } from "../core/format.ts";
import { parseJsonWithin } from "../core/json-within.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, MAX_RECORD } from "../core/limits.ts";
import { readBody } from "./bounded.ts";

const ANSWER_MS = 30_000;
/** A server that has just begun may leave the first request without an answer for good. */
const OPEN_MS = 10_000;

export interface Server {
  readonly url: URL;
  /** Kept in memory only. */
  readonly authorization: string | null;
}

/** The server refused us, or answered with something else than a stream. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, words: string) {
    super(words);
    this.status = status;
  }
}

/**
 * The data of each event of a server-sent stream, as they come. Ends when the server ends it; throws when the connection breaks or is silent for too long.
 * An event that was cut off in its middle never was.
 */
export async function* readEventStream(
  server: Server,
  path: string,
  { signal, silenceMs, onOpen }: { readonly signal: AbortSignal; readonly silenceMs: number; readonly onOpen: () => void },
): AsyncGenerator<readonly string[]> {
  const dead = new AbortController();
  const patience = (ms: number) => setTimeout(() => dead.abort(new Error(`nothing came for ${duration(ms)}`)), ms);
  let timer = patience(Math.min(OPEN_MS, silenceMs));
  const alive = () => {
    clearTimeout(timer);
    timer = patience(silenceMs);
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
      throw new Refused(response.status, "it answers with something else than an event stream");
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

/** As if it had said itself that the answer is too large. */
const TOO_LARGE = { status: 413, body: null };

/** What it answers to a question; null where it does not. One that is larger than any record is `TOO_LARGE`. */
export async function ask(server: Server, path: string, signal: AbortSignal): Promise<{ readonly status: number; readonly body: unknown } | null> {
  try {
    const response = await fetch(at(server, path), {
      headers: { Accept: "application/json", ...authorized(server) },
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    });
    const { bytes, isWhole } = await readBody(response.body, MAX_RECORD);
    return isWhole ? { status: response.status, body: jsonIn(new TextDecoder().decode(bytes)) } : TOO_LARGE;
  } catch {
    // It is gone, or too slow: whoever asks will ask again.
    return null;
  }
}

/** Null for what is no JSON, or more of it than can be kept. */
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

const authorized = ({ authorization }: Server): Record<string, string> => (authorization === null ? {} : { Authorization: authorization });

function refusal(status: number): string {
  if (status === 401 || status === 403) return "it wants a password, or another one";
  return `it answers with ${status}`;
}
