import { asList, asObject, asText, asWords, type JsonObject, parseJson } from "../../core/json.ts";
import type { Api } from "../../core/traffic.ts";
import { type AnswerReader, errorIn, errorOf, type Said } from "./answer.ts";
import { ChatAnswer } from "./chat.ts";

export function answerReader(api: Api): AnswerReader | null {
  if (api === "messages") return new MessagesAnswer();
  if (api === "chat") return new ChatAnswer();
  return api === "responses" ? new ResponsesAnswer() : null;
}

class MessagesAnswer implements AnswerReader {
  stop: string | null = null;
  usage: JsonObject | null = null;
  error: string | null = null;
  isWhole = false;
  readonly #blocks = new Map<unknown, { start: JsonObject; text: string; json: string; signature: string }>();

  *event(data: JsonObject): Generator<Said> {
    switch (data.type) {
      case "message_start":
        yield* this.#open(asObject(data.message) ?? {});
        break;
      case "content_block_start":
        this.#blocks.set(data.index, { start: asObject(data.content_block) ?? {}, text: "", json: "", signature: "" });
        break;
      case "content_block_delta":
        this.#add(data);
        break;
      case "content_block_stop":
        yield* this.#close(data.index);
        break;
      case "message_delta":
        this.stop = asWords(asObject(data.delta)?.stop_reason) ?? this.stop;
        this.#count(asObject(data.usage));
        break;
      case "message_stop":
        this.isWhole = true;
        break;
      case "error":
        this.error = errorOf(data);
        break;
      default:
        // Pings, and what later versions say besides.
        break;
    }
  }

  *done(): Generator<Said> {}

  *whole(body: JsonObject): Generator<Said> {
    if (body.type !== "message") {
      this.error = errorOf(body);
      return;
    }
    yield* this.#open(body);
    for (const item of asList(body.content)) {
      const block = asObject(item);
      if (block !== null) yield { is: "block", block };
    }
    this.stop = asWords(body.stop_reason);
    this.isWhole = true;
  }

  *#open(message: JsonObject): Generator<Said> {
    this.#count(asObject(message.usage));
    const id = asWords(message.id);
    if (id !== null) yield { is: "opened", response: id, model: asWords(message.model), usage: this.usage };
  }

  /** What a later number does not repeat still holds. */
  #count(usage: JsonObject | null) {
    if (usage === null) return;
    const given = Object.entries(usage).filter(([, value]) => value !== null);
    this.usage = { ...this.usage, ...Object.fromEntries(given) };
  }

  #add(data: JsonObject) {
    const block = this.#blocks.get(data.index);
    const delta = asObject(data.delta);
    if (block === undefined || delta === null) return;
    block.text += asText(delta.text) ?? asText(delta.thinking) ?? "";
    block.json += asText(delta.partial_json) ?? "";
    block.signature += asText(delta.signature) ?? "";
  }

  *#close(index: unknown): Generator<Said> {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    const { start, text, json, signature } = block;
    const input = json === "" ? {} : { input: parseJson(json)?.value ?? json };
    const words = text === "" ? {} : start.type === "thinking" ? { thinking: text } : { text };
    yield { is: "block", block: { ...start, ...words, ...input, ...(signature === "" ? {} : { signature }) } };
  }
}

class ResponsesAnswer implements AnswerReader {
  stop: string | null = null;
  usage: JsonObject | null = null;
  error: string | null = null;
  isWhole = false;
  #isOpen = false;

  *event(data: JsonObject): Generator<Said> {
    const response = asObject(data.response);
    switch (data.type) {
      case "response.created":
        yield* this.#open(response ?? {});
        break;
      case "response.output_item.done": {
        const item = asObject(data.item);
        if (item !== null) yield { is: "block", block: item };
        break;
      }
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        yield* this.#open(response ?? {});
        this.#finish(response ?? {});
        break;
      case "error":
        this.error = errorOf(data) ?? asWords(data.code);
        break;
      default:
        break;
    }
  }

  *done(): Generator<Said> {}

  *whole(body: JsonObject): Generator<Said> {
    if (body.object !== "response") {
      this.error = errorOf(body);
      return;
    }
    yield* this.#open(body);
    for (const item of asList(body.output)) {
      const block = asObject(item);
      if (block !== null) yield { is: "block", block };
    }
    this.#finish(body);
  }

  *#open(response: JsonObject): Generator<Said> {
    const id = asWords(response.id);
    if (id === null || this.#isOpen) return;
    this.#isOpen = true;
    yield { is: "opened", response: id, model: asWords(response.model), usage: asObject(response.usage) };
  }

  #finish(response: JsonObject) {
    this.usage = asObject(response.usage) ?? this.usage;
    this.stop = asWords(response.status) ?? "completed";
    this.error = errorIn(response.error) ?? (this.stop === "failed" ? "the response failed" : null);
    this.isWhole = this.stop !== "failed";
  }
}
