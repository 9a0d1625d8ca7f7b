import type { ToolCall } from "../../core/ports/dialect.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject, parseFiniteJson } from "../../core/tools/json.ts";

/** A part of a response, independent of the API. */
export type Part =
  | { readonly is: "text"; readonly text: string }
  | { readonly is: "reasoning"; readonly text: string }
  | { readonly is: "call"; readonly call: ToolCall }
  | { readonly is: "other" };

export function partOf(block: JsonObject): Part {
  switch (block.type) {
    case "text":
      return { is: "text", text: asText(block.text) ?? "" };
    case "message":
      return { is: "text", text: textsOf(block.content) };
    case "thinking":
      return { is: "reasoning", text: asText(block.thinking) ?? "" };
    case "reasoning":
      return { is: "reasoning", text: textsOf(block.summary) };
    case "tool_use":
      return called(block, asNonBlank(block.id), block.input);
    case "function_call":
      return called(block, asNonBlank(block.call_id), parseFiniteJson(asText(block.arguments) ?? "")?.value);
    case "function": {
      const { name, arguments: args } = asObject(block.function) ?? {};
      return called({ ...block, name }, asNonBlank(block.id), parseFiniteJson(asText(args) ?? "")?.value);
    }
    case "custom_tool_call":
      return called(block, asNonBlank(block.call_id), { input: block.input });
    default:
      return { is: "other" };
  }
}

function called(block: JsonObject, id: string | null, input: unknown): Part {
  const name = asNonBlank(block.name);
  return id === null || name === null
    ? { is: "other" }
    : { is: "call", call: { id, name, input: asObject(input) ?? {}, block } };
}

const textsOf = (content: unknown) =>
  asList(content)
    .flatMap((item) => asText(asObject(item)?.text) ?? [])
    .join("\n");
