/** The blocks of a message in Anthropic's API, as several products record them. */
import { asList, asNonBlank, asObject, asText, type JsonObject } from "../../core/tools/json.ts";

export interface ToolUse {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

/** All texts of a content: a string, or a list of blocks. */
export const blockText = (content: unknown): string =>
  typeof content === "string"
    ? content
    : asList(content)
        .map(asObject)
        .flatMap((block) => (block?.type === "text" ? (asText(block.text) ?? []) : []))
        .join("\n");

export const thoughtsIn = (blocks: readonly JsonObject[]): readonly string[] =>
  blocks.flatMap((block) => (block.type === "thinking" ? (asNonBlank(block.thinking) ?? []) : []));

/** Calls without an id cannot be matched to their results. */
export const toolUsesIn = (blocks: readonly JsonObject[]): readonly ToolUse[] =>
  blocks.flatMap((block) => {
    const [id, name] = [asNonBlank(block.id), asNonBlank(block.name)];
    return block.type !== "tool_use" || id === null || name === null
      ? []
      : [{ id, name, input: asObject(block.input) ?? {} }];
  });

export const toolResultsIn = (blocks: readonly JsonObject[]) =>
  blocks.flatMap((block) => {
    const id = asNonBlank(block.tool_use_id);
    return block.type !== "tool_result" || id === null
      ? []
      : [{ id, isError: block.is_error === true, content: block.content }];
  });
