import { asList, asObject, asText } from "../../core/tools/json.ts";

/** The first line of a message, as the reason of a status. */
export const firstLine = (text: string): string => (text.trim().split("\n")[0] ?? "").slice(0, 200);

/** A content that is a string or a list of parts, which may have a text. */
export const textOf = (content: unknown, separator: string): string =>
  typeof content === "string"
    ? content
    : asList(content)
        .map((part) => asText(asObject(part)?.text) ?? "")
        .join(separator);
