import type { BlockRow, EndedRow, OpenedRow, ResponseRow } from "../../core/facts/traffic.ts";
import { asList, asObject, type JsonObject, parseFiniteJson } from "../../core/tools/json.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { apiOf, type ReadRequest, type RequestHead, readRequest } from "./read-request.ts";
import { errorOf, type ResponseReader } from "./response-reader.ts";
import { responseReader } from "./response-readers.ts";
import { type Sanitizer, safeHeaders } from "./sanitize.ts";
import { SseReader } from "./sse.ts";

/** Maximum size of a response that is not a stream. */
const MAX_WHOLE = 16 << 20;

/**
 * Converts one exchange into rows while it is in progress. Takes decoded text; the caller decompresses bodies, measures
 * time and writes files.
 */
export class ExchangeReader {
  readonly #head: RequestHead;
  readonly #sanitizer: Sanitizer | null;
  readonly #response: ResponseReader | null;
  readonly #sse = new SseReader();
  #status: number | null = null;
  #isStream = false;
  #whole: string[] = [];
  #length = 0;
  #firstTokenMs: number | null = null;
  #bytes = 0;

  constructor(head: RequestHead, sanitizer: Sanitizer | null) {
    this.#head = head;
    this.#sanitizer = sanitizer;
    this.#response = responseReader(apiOf(head.method, head.path));
  }

  asked(text: string | null, bytes: number): ReadRequest {
    return readRequest(this.#head, text, bytes, this.#sanitizer);
  }

  answered(status: number, headers: readonly string[]): ResponseRow {
    const safe = safeHeaders(headers, this.#sanitizer);
    this.#status = status;
    this.#isStream = (safe["content-type"] ?? "").includes("event-stream");
    return { is: "answered", request: this.#head.request, status, headers: safe };
  }

  /** A piece of the response's text, `sinceMs` after the request. */
  *text(text: string, bytes: number, sinceMs: number): Generator<OpenedRow | BlockRow> {
    this.#bytes += bytes;
    this.#length += text.length;
    if (!this.#isStream) {
      if (this.#length <= MAX_WHOLE) this.#whole.push(text);
      return;
    }
    // No model returns this much: an endless stream must not fill the memory.
    if (this.#length > MAX_RECORD) return;
    for (const data of this.#sse.push(text)) {
      if (this.#response === null) continue;
      if (data.trim() === "[DONE]") yield* this.#rows(this.#response.done());
      const event = data.startsWith("{") ? asObject(parseFiniteJson(data)?.value) : null;
      if (event === null) continue;
      if (this.#firstTokenMs === null && hasDelta(event)) this.#firstTokenMs = sinceMs;
      yield* this.#rows(this.#response.event(event));
    }
  }

  *ended(how: EndedRow["how"], error: string | null, durationMs: number): Generator<OpenedRow | BlockRow | EndedRow> {
    const body =
      this.#isStream || this.#whole.length === 0 ? null : asObject(parseFiniteJson(this.#whole.join(""))?.value);
    this.#whole = [];
    if (body !== null && this.#response !== null) yield* this.#rows(this.#response.whole(body));
    const { stop, usage, error: apiError } = this.#response ?? NO_RESPONSE;
    yield {
      is: "ended",
      request: this.#head.request,
      how,
      error:
        error ??
        apiError ??
        (this.#status !== null && this.#status >= 400 && body !== null ? errorOf(body) : null) ??
        this.#unfinished(how),
      status: this.#status,
      stop,
      usage,
      firstTokenMs: this.#firstTokenMs,
      durationMs,
      bytes: this.#bytes,
    };
  }

  /** A stream may end cleanly in the middle of a response. */
  #unfinished(how: EndedRow["how"]): string | null {
    const isCut =
      how === "finished" &&
      this.#status === 200 &&
      this.#isStream &&
      this.#response !== null &&
      !this.#response.isWhole;
    return isCut ? "the stream ended before the response was complete" : null;
  }

  *#rows(parts: ReturnType<ResponseReader["event"]>): Generator<OpenedRow | BlockRow> {
    const { request } = this.#head;
    // Some chat completion servers give their responses no ids.
    for (const one of parts)
      yield one.is === "opened" ? { request, ...one, response: one.response || request } : { request, ...one };
  }
}

/** The model's output begins with the first delta. */
function hasDelta({ type, choices }: JsonObject): boolean {
  if (/delta/.test(String(type))) return true;
  return asList(choices).some((choice) => {
    const { role: _, ...delta } = asObject(asObject(choice)?.delta) ?? {};
    return Object.values(delta).some((value) => value !== null && value !== "");
  });
}

const NO_RESPONSE: { readonly stop: null; readonly usage: JsonObject | null; readonly error: null } = {
  stop: null,
  usage: null,
  error: null,
};
