import type { RecordKey } from "../../core/ids.ts";
import { asCount, asList, asObject, asText, asTime, asWords, type JsonObject, jsonText } from "../../core/json.ts";
import type { Tokens } from "../../core/usage.ts";
import * as key from "./keys.ts";

/** Records that are part of a conversation. */
export const CONVERSATION: ReadonlySet<string> = new Set(["user", "assistant", "attachment", "system", "progress"]);

/** One record of a transcript with the fields that every conversation record has. */
export interface Row {
  readonly json: JsonObject;
  readonly type: string;
  readonly uuid: string | null;
  readonly parentUuid: string | null;
  readonly isSidechain: boolean | null;
  readonly sessionId: string | null;
  readonly agentId: string | null;
  readonly at: number | null;
  readonly message: JsonObject | null;
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "thinking"; readonly text: string }
  | { readonly is: "tool-use"; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly is: "tool-result"; readonly id: string; readonly isError: boolean; readonly text: string }
  | { readonly is: "other" };

export function readRow(json: JsonObject): Row {
  const message = asObject(json.message);
  return {
    json,
    type: asText(json.type) ?? "",
    uuid: asWords(json.uuid),
    parentUuid: asWords(json.parentUuid),
    isSidechain: typeof json.isSidechain === "boolean" ? json.isSidechain : null,
    sessionId: asWords(json.sessionId),
    agentId: asWords(json.agentId),
    at: asTime(json.timestamp),
    message,
    blocks: readBlocks(message?.content),
  };
}

function readBlocks(content: unknown): Block[] {
  if (typeof content === "string") return [{ is: "text", text: content }];
  return asList(content).map((item): Block => {
    if (typeof item === "string") return { is: "text", text: item };
    const block = asObject(item);
    switch (block?.type) {
      case "text":
        return { is: "text", text: asText(block.text) ?? "" };
      case "thinking":
        return { is: "thinking", text: asText(block.thinking) ?? "" };
      case "tool_use": {
        const [id, name] = [asWords(block.id), asWords(block.name)];
        return id === null || name === null ? { is: "other" } : { is: "tool-use", id, name, input: block.input };
      }
      case "tool_result": {
        const id = asWords(block.tool_use_id);
        return id === null ? { is: "other" } : { is: "tool-result", id, isError: block.is_error === true, text: plainText(block.content) };
      }
      default:
        return { is: "other" };
    }
  });
}

/** The words of a content that is a string or a list of blocks and strings. */
export function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  return asList(content)
    .map((item) => asText(item) ?? asText(asObject(item)?.text) ?? "")
    .filter((text) => text !== "")
    .join("\n");
}

export const textOf = (row: Row) =>
  row.blocks
    .flatMap((b) => (b.is === "text" ? [b.text] : []))
    .join("\n")
    .trim();

/** Made up by the CLI itself: no model was called for it. */
export const isSynthetic = (row: Row) => row.message?.model === "<synthetic>" || row.json.isApiErrorMessage === true;

/** The model response an assistant row is a part of. */
export function responseOf(row: Row, session: string): RecordKey | null {
  if (row.type !== "assistant" || isSynthetic(row)) return null;
  const id = asWords(row.message?.id) ?? asWords(row.json.requestId) ?? row.uuid;
  return id === null ? null : key.record(session, id);
}

/** The record's ids: its own, and its response's last. */
export function keysOf(row: Row, session: string): readonly RecordKey[] {
  const response = responseOf(row, session);
  const own = row.uuid === null ? [] : [key.record(session, row.uuid)];
  return response === null || own[0] === response ? own : [...own, response];
}

export function tokensOf(row: Row): Tokens {
  const usage = asObject(row.message?.usage);
  const byAge = asObject(usage?.cache_creation);
  const oneHour = asCount(byAge?.ephemeral_1h_input_tokens);
  return {
    inputTokens: asCount(usage?.input_tokens),
    outputTokens: asCount(usage?.output_tokens),
    reasoningTokens: asCount(asObject(usage?.output_tokens_details)?.thinking_tokens),
    cacheReadTokens: asCount(usage?.cache_read_input_tokens),
    cacheWriteTokens:
      usage?.cache_creation_input_tokens == null ? asCount(byAge?.ephemeral_5m_input_tokens) + oneHour : asCount(usage.cache_creation_input_tokens),
    cacheWrite1hTokens: oneHour,
  };
}

/** Up to 2.1.300 a row may be written before the response has ended; then neither this nor the number of output tokens ever comes. */
export const hasEnded = (row: Row) => typeof row.message?.stop_reason === "string";

/** Characters the row holds of what the model wrote. */
export function writtenChars(row: Row): number {
  return row.blocks.reduce(
    (sum, b) => sum + (b.is === "text" || b.is === "thinking" ? b.text.length : b.is === "tool-use" ? (jsonText(b.input)?.length ?? 0) : 0),
    0,
  );
}
