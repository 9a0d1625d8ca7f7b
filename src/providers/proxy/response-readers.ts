import type { Api } from "../../core/facts/traffic.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject, parseFiniteJson } from "../../core/tools/json.ts";
import { ChatReader } from "./chat.ts";
import { errorIn, errorOf, mergedUsage, type ResponsePart, type ResponseReader } from "./response-reader.ts";

export function responseReader(api: Api): ResponseReader | null {
  if (api === "messages") return new MessagesReader();
  if (api === "chat") return new ChatReader();
  return api === "responses" ? new ResponsesReader() : null;
}

class MessagesReader implements ResponseReader {
  stop: string | null = null;
  usage: JsonObject | null = null;
  error: string | null = null;
  isWhole = false;
  readonly #blocks = new Map<unknown, { start: JsonObject; text: string; json: string; signature: string }>();

  *event(data: JsonObject): Generator<ResponsePart> {
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
        this.stop = asNonBlank(asObject(data.delta)?.stop_reason) ?? this.stop;
        this.#count(asObject(data.usage));
        break;
      case "message_stop":
        this.isWhole = true;
        break;
      case "error":
        this.error = errorOf(data);
        break;
      default:
        // Pings and unknown events.
        break;
    }
  }

  *done(): Generator<ResponsePart> {}

  *whole(body: JsonObject): Generator<ResponsePart> {
    if (body.type !== "message") {
      this.error = errorOf(body);
      return;
    }
    yield* this.#open(body);
    for (const item of asList(body.content)) {
      const block = asObject(item);
      if (block !== null) yield { is: "block", block };
    }
    this.stop = asNonBlank(body.stop_reason);
    this.isWhole = true;
  }

  *#open(message: JsonObject): Generator<ResponsePart> {
    this.#count(asObject(message.usage));
    const id = asNonBlank(message.id);
    if (id !== null) yield { is: "opened", response: id, model: asNonBlank(message.model), usage: this.usage };
  }

  #count(usage: JsonObject | null) {
    this.usage = mergedUsage(this.usage, usage);
  }

  #add(data: JsonObject) {
    const block = this.#blocks.get(data.index);
    const delta = asObject(data.delta);
    if (block === undefined || delta === null) return;
    block.text += asText(delta.text) ?? asText(delta.thinking) ?? "";
    block.json += asText(delta.partial_json) ?? "";
    block.signature += asText(delta.signature) ?? "";
  }

  *#close(index: unknown): Generator<ResponsePart> {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    this.#blocks.delete(index);
    const { start, text, json, signature } = block;
    const input = json === "" ? {} : { input: parseFiniteJson(json)?.value ?? json };
    const content = text === "" ? {} : start.type === "thinking" ? { thinking: text } : { text };
    yield { is: "block", block: { ...start, ...content, ...input, ...(signature === "" ? {} : { signature }) } };
  }
}

class ResponsesReader implements ResponseReader {
  stop: string | null = null;
  usage: JsonObject | null = null;
  error: string | null = null;
  isWhole = false;
  #isOpen = false;

  *event(data: JsonObject): Generator<ResponsePart> {
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
        this.error = errorOf(data) ?? asNonBlank(data.code);
        break;
      default:
        break;
    }
  }

  *done(): Generator<ResponsePart> {}

  *whole(body: JsonObject): Generator<ResponsePart> {
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

  *#open(response: JsonObject): Generator<ResponsePart> {
    const id = asNonBlank(response.id);
    if (id === null || this.#isOpen) return;
    this.#isOpen = true;
    yield { is: "opened", response: id, model: asNonBlank(response.model), usage: asObject(response.usage) };
  }

  #finish(response: JsonObject) {
    this.usage = asObject(response.usage) ?? this.usage;
    this.stop = asNonBlank(response.status) ?? "completed";
    this.error = errorIn(response.error) ?? (this.stop === "failed" ? "the response failed" : null);
    this.isWhole = this.stop !== "failed";
  }
}
