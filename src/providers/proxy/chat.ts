import { asList, asNonBlank, asNumber, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { errorOf, mergedUsage, type ResponsePart, type ResponseReader } from "./response-reader.ts";

/** A tool call whose arguments are still arriving. */
interface OpenCall {
  readonly index: number;
  id: string;
  name: string;
  args: string;
}

/** One of the choices in a response; nearly always the only one. */
interface Choice {
  text: string;
  reasoning: string;
  calls: OpenCall[];
}

/** A response of the Chat Completions API, as streamed by OpenAI and compatible servers. */
export class ChatReader implements ResponseReader {
  stop: string | null = null;
  usage: JsonObject | null = null;
  error: string | null = null;
  isWhole = false;
  #isOpen = false;
  readonly #choices = new Map<number, Choice>();

  *event(data: JsonObject): Generator<ResponsePart> {
    if (data.error != null) this.error = errorOf(data);
    const choices = asList(data.choices).map((item) => asObject(item) ?? {});
    this.#count(asObject(data.usage) ?? asObject(asObject(data.x_groq)?.usage));
    yield* this.#open(data, choices.length > 0);
    for (const choice of choices) {
      const index = asNumber(choice.index) ?? 0;
      // Moonshot reports usage in the choice.
      this.#count(asObject(choice.usage));
      this.#add(this.#choice(index), asObject(choice.delta) ?? asObject(choice.message) ?? {});
      const stop = asNonBlank(choice.finish_reason);
      if (stop === null) continue;
      if (index === 0 || this.stop === null) this.stop = stop;
      this.isWhole = true;
      yield* this.#close(index);
    }
  }

  /** `data: [DONE]`. Some servers omit the finish reason. */
  *done(): Generator<ResponsePart> {
    if (this.error !== null) return;
    this.isWhole = true;
    this.stop ??= "stop";
    for (const index of [...this.#choices.keys()].sort((a, b) => a - b)) yield* this.#close(index);
  }

  *whole(body: JsonObject): Generator<ResponsePart> {
    if (!Array.isArray(body.choices)) {
      this.error = errorOf(body);
      return;
    }
    yield* this.event(body);
    yield* this.done();
  }

  *#open({ id, model }: JsonObject, hasBegun: boolean): Generator<ResponsePart> {
    // Earlier chunks, such as a content filter result, have no response id.
    if (this.#isOpen || !hasBegun) return;
    this.#isOpen = true;
    yield { is: "opened", response: asText(id) ?? "", model: asNonBlank(model), usage: this.usage };
  }

  #count(usage: JsonObject | null) {
    this.usage = mergedUsage(this.usage, usage);
  }

  #choice(index: number): Choice {
    const known = this.#choices.get(index) ?? { text: "", reasoning: "", calls: [] };
    this.#choices.set(index, known);
    return known;
  }

  #add(choice: Choice, delta: JsonObject) {
    choice.text += textOf(delta.content) + (asText(delta.refusal) ?? "");
    choice.reasoning += asText(delta.reasoning_content) ?? asText(delta.reasoning) ?? "";
    for (const [i, item] of asList(delta.tool_calls).entries()) {
      const call = asObject(item) ?? {};
      const called = asObject(call.function) ?? {};
      const open = openCall(
        choice.calls,
        asNumber(call.index) ?? (asNonBlank(call.id) === null ? 0 : choice.calls.length + i),
        asNonBlank(call.id),
      );
      // Some servers repeat the name with every piece of the arguments.
      open.name = asNonBlank(called.name) ?? open.name;
      open.args +=
        typeof called.arguments === "object" && called.arguments !== null
          ? JSON.stringify(called.arguments)
          : (asText(called.arguments) ?? "");
    }
  }

  *#close(index: number): Generator<ResponsePart> {
    const choice = this.#choices.get(index);
    if (choice === undefined) return;
    this.#choices.delete(index);
    const blocks = blocksOf(choice);
    if (index > 0) {
      if (blocks.length > 0) yield { is: "block", block: { type: "choice", index, content: blocks } };
    } else for (const block of blocks) yield { is: "block", block };
  }
}

/** The call of a delta. A new id under an old index is another call: some servers number all of them 0. */
function openCall(calls: OpenCall[], index: number, id: string | null): OpenCall {
  const known = calls.findLast((call) => call.index === index);
  if (known !== undefined && (id === null || known.id === "" || known.id === id)) {
    if (id !== null) known.id = id;
    return known;
  }
  const call = { index, id: id ?? "", name: "", args: "" };
  calls.push(call);
  return call;
}

function blocksOf({ text, reasoning, calls }: Choice): readonly JsonObject[] {
  return [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, args }, i) => ({
      type: "function",
      id: id === "" ? `call_${i}` : id,
      function: { name, arguments: args },
    })),
  ];
}

/** Usually a string; some vendors use a list of parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return asList(content)
    .map((part) => asText(asObject(part)?.text) ?? "")
    .join("");
}
