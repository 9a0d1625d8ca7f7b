import { asList, asObject, asText } from "../../core/tools/json.ts";

const MAX_LINE = 200;

/** The first line of a message, as the reason of a status. The ellipsis tells redaction where a key may be cut off. */
export function firstLine(text: string): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
}

/** A content that is a string or a list of parts, which may have a text. */
export const textOf = (content: unknown, separator: string): string =>
  typeof content === "string"
    ? content
    : asList(content)
        .map((part) => asText(asObject(part)?.text) ?? "")
        .join(separator);
