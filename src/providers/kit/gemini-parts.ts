/** The parts of a message in the Gemini API, as Gemini CLI and its forks record them. */
import { asList, asNonBlank, asObject, asText, type JsonObject, jsonText } from "../../core/tools/json.ts";
import type { ToolUse } from "./message-blocks.ts";
import type { MessageResult } from "./messages.ts";

/** All texts that are not thoughts. */
export const textIn = (parts: unknown): string =>
  asList(parts)
    .filter((part) => asObject(part)?.thought !== true)
    .map(partText)
    .join("");

export const thoughtsIn = (parts: unknown): readonly string[] =>
  asList(parts).flatMap((part) => (asObject(part)?.thought === true ? [partText(part)] : []));

export const partText = (part: unknown): string =>
  typeof part === "string" ? part : (asText(asObject(part)?.text) ?? "");

/** Calls without an id cannot be matched to their results. */
export const callsIn = (parts: unknown): readonly ToolUse[] =>
  asList(parts).flatMap((part) => {
    const call = asObject(asObject(part)?.functionCall);
    const [id, name] = [asNonBlank(call?.id), asNonBlank(call?.name)];
    return id === null || name === null ? [] : [{ id, name, input: asObject(call?.args) ?? {} }];
  });

export const responsesIn = (parts: unknown): readonly MessageResult[] =>
  asList(parts).flatMap((part) => responseOf(asObject(asObject(part)?.functionResponse)) ?? []);

function responseOf(json: JsonObject | null): MessageResult | null {
  const id = asNonBlank(json?.id);
  const response = asObject(json?.response);
  return id === null ? null : { id, text: outputText(response), isError: response?.error !== undefined };
}

export function outputText(response: JsonObject | null): string {
  const output = response?.output ?? response?.error;
  return asText(output) ?? (response === null ? "" : (jsonText(output ?? response) ?? ""));
}
