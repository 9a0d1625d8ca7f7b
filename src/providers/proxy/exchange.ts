import { asList, asObject, type JsonObject, parseJson } from "../../core/json.ts";
import { MAX_RECORD } from "../../core/limits.ts";
import type { AnsweredRow, BlockRow, EndedRow, OpenedRow } from "../../core/traffic.ts";
import { type AnswerReader, errorOf } from "./answer.ts";
import { answerReader } from "./answers.ts";
import { type Asked, apiOf, type Question, readAsked } from "./asked.ts";
import { type Keeping, keptHeaders } from "./kept.ts";
import { SseReader } from "./sse.ts";

/** An answer that is not a stream is kept up to here, to be read as a whole. */
const MAX_WHOLE = 16 << 20;

/** Turns one exchange into rows while it runs. Knows texts only: unpacking, clocks and files are the business of others. */
export class ExchangeReader {
  readonly #question: Question;
  readonly #keeping: Keeping | null;
  readonly #answer: AnswerReader | null;
  readonly #sse = new SseReader();
  #status: number | null = null;
  #isStream = false;
  #whole: string[] = [];
  #length = 0;
  #firstTokenMs: number | null = null;
  #bytes = 0;

  constructor(question: Question, keeping: Keeping | null) {
    this.#question = question;
    this.#keeping = keeping;
    this.#answer = answerReader(apiOf(question.method, question.path));
  }

  asked(text: string | null, bytes: number): Asked {
    return readAsked(this.#question, text, bytes, this.#keeping);
  }

  answered(status: number, headers: readonly string[]): AnsweredRow {
    const kept = keptHeaders(headers, this.#keeping);
    this.#status = status;
    this.#isStream = (kept["content-type"] ?? "").includes("event-stream");
    return { is: "answered", request: this.#question.request, status, headers: kept };
  }

  /** A piece of the answer's text, so many milliseconds after it was asked for. */
  *text(text: string, bytes: number, sinceMs: number): Generator<OpenedRow | BlockRow> {
    this.#bytes += bytes;
    this.#length += text.length;
    if (!this.#isStream) {
      if (this.#length <= MAX_WHOLE) this.#whole.push(text);
      return;
    }
    // Far more than any model says: a stream without end must not fill the memory.
    if (this.#length > MAX_RECORD) return;
    for (const data of this.#sse.push(text)) {
      if (this.#answer === null) continue;
      if (data.trim() === "[DONE]") yield* this.#rows(this.#answer.done());
      const event = data.startsWith("{") ? asObject(parseJson(data)?.value) : null;
      if (event === null) continue;
      if (this.#firstTokenMs === null && hasDelta(event)) this.#firstTokenMs = sinceMs;
      yield* this.#rows(this.#answer.event(event));
    }
  }

  *ended(how: EndedRow["how"], error: string | null, durationMs: number): Generator<OpenedRow | BlockRow | EndedRow> {
    const body = this.#isStream || this.#whole.length === 0 ? null : asObject(parseJson(this.#whole.join(""))?.value);
    this.#whole = [];
    if (body !== null && this.#answer !== null) yield* this.#rows(this.#answer.whole(body));
    const { stop, usage, error: told } = this.#answer ?? NO_ANSWER;
    yield {
      is: "ended",
      request: this.#question.request,
      how,
      error: error ?? told ?? (this.#status !== null && this.#status >= 400 && body !== null ? errorOf(body) : null) ?? this.#unfinished(how),
      status: this.#status,
      stop,
      usage,
      firstTokenMs: this.#firstTokenMs,
      durationMs,
      bytes: this.#bytes,
    };
  }

  /** A stream may end politely and yet in the middle of an answer. */
  #unfinished(how: EndedRow["how"]): string | null {
    const isCut = how === "finished" && this.#status === 200 && this.#isStream && this.#answer !== null && !this.#answer.isWhole;
    return isCut ? "the stream ended before the answer did" : null;
  }

  *#rows(said: ReturnType<AnswerReader["event"]>): Generator<OpenedRow | BlockRow> {
    const { request } = this.#question;
    // Some servers of chat completions give their answers no id.
    for (const one of said) yield one.is === "opened" ? { request, ...one, response: one.response || request } : { request, ...one };
  }
}

/** What the model says begins with the first delta. */
function hasDelta({ type, choices }: JsonObject): boolean {
  if (/delta/.test(String(type))) return true;
  return asList(choices).some((choice) => {
    const { role: _, ...delta } = asObject(asObject(choice)?.delta) ?? {};
    return Object.values(delta).some((value) => value !== null && value !== "");
  });
}

const NO_ANSWER: { readonly stop: null; readonly usage: JsonObject | null; readonly error: null } = { stop: null, usage: null, error: null };
