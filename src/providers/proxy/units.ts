import type { Api, TailPart } from "../../core/facts/traffic.ts";
import { hash } from "../../core/tools/hash.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject, jsonText } from "../../core/tools/json.ts";
import { singleSpaced } from "../../core/tools/spaces.ts";

/** Context that clients add to messages and change between requests. */
const REMINDER = /<system-reminder>[\s\S]*?<\/system-reminder>/g;

/** A short name for a text; equal for equal texts. */
export const nameOf = (text: string) => hash(text).toString(36) + text.length.toString(36);

/** The text of a message without reminders and line breaks, for comparison. */
const plain = (text: string) => singleSpaced(text.replace(REMINDER, ""));

/** The messages of a request, independent of the API. In chat completions, leading system messages are the preface. */
export function conversationIn(
  api: Api,
  body: JsonObject,
): { readonly preface: unknown; readonly messages: readonly JsonObject[] } {
  const list =
    api === "responses"
      ? typeof body.input === "string"
        ? [{ role: "user", content: body.input }]
        : body.input
      : body.messages;
  const messages = asList(list).map((item) => asObject(item) ?? {});
  if (api !== "chat") return { preface: null, messages };
  const first = messages.findIndex(({ role }) => role !== "system" && role !== "developer");
  const leading = messages.slice(0, first < 0 ? messages.length : first).map(({ content }) => content);
  return {
    preface: leading.length > 1 ? leading.flat() : (leading[0] ?? null),
    messages: messages.slice(leading.length),
  };
}

/** Who wrote a message: the model, the user side, or neither. */
export function sideOf(message: JsonObject): "model" | "user" | "other" {
  // Up to 0.135, Codex puts messages between agents into an assistant message.
  if (message.role === "assistant")
    return textsIn(message).some((text) => text.startsWith('{"author":"/')) ? "user" : "model";
  const type = asText(message.type);
  if (message.role === "tool" || message.role === "function") return "user";
  if (type === null || type === "message") return message.role === "user" ? "user" : "other";
  if (type.endsWith("_output")) return "user";
  return type.endsWith("_call") || type === "reasoning" ? "model" : type === "agent_message" ? "user" : "other";
}

/**
 * The unit of a message in the chain of a request: a name that depends on its side and content. Null if it is not part
 * of the conversation.
 */
export function unitOf(message: JsonObject): string | null {
  if (sideOf(message) === "other") return null;
  const text = partsOf(message).join("\n");
  return text === "" ? null : nameOf(`${sideOf(message)}\n${text}`);
}

function partsOf(message: JsonObject): readonly string[] {
  const call = asNonBlank(message.call_id);
  if (call !== null) return [`${sideOf(message)} ${call}`];
  if (message.type === "reasoning") return [];
  if (message.role === "tool" || message.role === "function")
    return [`tool_result ${asText(message.tool_call_id) ?? asText(message.name) ?? ""}`];
  const calls = asList(message.tool_calls).flatMap((item) => asNonBlank(asObject(item)?.id) ?? []);
  // Clients omit or change the text next to tool calls; the ids stay.
  if (calls.length > 0) return calls.map((id) => `tool_use ${id}`);
  const content =
    typeof message.content === "string" ? [{ type: "text", text: message.content }] : asList(message.content);
  return content.flatMap((item) => {
    const block = asObject(item) ?? {};
    const id = asNonBlank(
      block.type === "tool_result" ? block.tool_use_id : block.type === "tool_use" ? block.id : null,
    );
    if (id !== null) return [`${asText(block.type)} ${id}`];
    const text = plain(asText(block.text) ?? "");
    if (text !== "") return [text];
    return block.type === "image" || block.type === "document" ? [nameOf(jsonText(block.source) ?? "")] : [];
  });
}

/**
 * The units of a response, as it will appear in the chain of the next request: one for all blocks, or one per item.
 * With several choices, one list per choice: the client continues one of them.
 */
export function responseUnits(api: Api, blocks: readonly JsonObject[]): readonly (readonly string[])[] {
  if (api === "responses") return [blocks.flatMap((item) => unitOf(item) ?? [])];
  const others = blocks
    .filter(({ type }) => type === "choice")
    .map(({ content }) => asList(content).map((item) => asObject(item) ?? {}));
  return [blocks.filter(({ type }) => type !== "choice"), ...others].map((list) => {
    const calls = list.filter(({ type }) => type === "function");
    return [unitOf({ role: "assistant", content: list, ...(calls.length === 0 ? {} : { tool_calls: calls }) })].filter(
      (unit) => unit !== null,
    );
  });
}

export function textsIn(message: JsonObject): readonly string[] {
  if (message.role === "tool" || message.role === "function") return [];
  if (typeof message.content === "string") return [message.content];
  return asList(message.content).flatMap((item) => {
    const block = asObject(item);
    const text = block?.type === "tool_result" ? null : (asText(block?.text) ?? asText(block?.encrypted_content));
    return text === null ? [] : [text];
  });
}

const MAX_RESULT = 6_000;

/** The beginning and end: a tool states its status in one of them. */
const shortened = (text: string) =>
  text.length <= MAX_RESULT ? text : `${text.slice(0, MAX_RESULT / 2)}\n…\n${text.slice(-MAX_RESULT / 2)}`;

export function resultsIn(message: JsonObject): TailPart["results"] {
  const output = asNonBlank(message.call_id);
  if (output !== null)
    return sideOf(message) === "user" ? [{ id: output, isError: false, text: shortened(textIn(message.output)) }] : [];
  if (message.role === "tool" || message.role === "function") {
    const id = asNonBlank(message.tool_call_id) ?? asNonBlank(message.name);
    return id === null ? [] : [{ id, isError: false, text: shortened(textIn(message.content)) }];
  }
  return asList(message.content).flatMap((item) => {
    const block = asObject(item);
    const id = block?.type === "tool_result" ? asNonBlank(block.tool_use_id) : null;
    return id === null ? [] : [{ id, isError: block?.is_error === true, text: shortened(textIn(block?.content)) }];
  });
}

function textIn(content: unknown): string {
  if (typeof content === "string") return content;
  return asList(content)
    .flatMap((item) => asText(asObject(item)?.text) ?? [])
    .join("\n");
}
