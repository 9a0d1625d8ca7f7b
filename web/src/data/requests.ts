import type { Piece, RequestRecord } from "../../../src/core/views/request.ts";

export type { Piece, RequestDetail, RequestRecord, Subtask } from "../../../src/core/views/request.ts";

/** Messages of a request: new ones one by one, and runs of messages that the previous request had as well. */
export type MessageRun =
  | { readonly is: "before"; readonly messages: readonly Piece[] }
  | { readonly is: "new"; readonly message: Piece };

export function messageRuns(messages: readonly Piece[], hasPrevious: boolean): readonly MessageRun[] {
  const runs: MessageRun[] = [];
  let same: Piece[] = [];
  const flush = () => {
    if (same.length > 0) runs.push({ is: "before", messages: same });
    same = [];
  };
  for (const message of messages) {
    if (hasPrevious && !message.is_new) same.push(message);
    else {
      flush();
      runs.push({ is: "new", message });
    }
  }
  flush();
  return runs;
}

/** Adds requests to the list, or replaces them by their newer version. Newest first. */
export function merged(known: readonly RequestRecord[], more: readonly RequestRecord[]): readonly RequestRecord[] {
  const all = new Map([...known, ...more].map((request) => [request.request_id, request]));
  return [...all.values()].sort((a, b) =>
    a.started_at === b.started_at ? (a.request_id < b.request_id ? -1 : 1) : a.started_at < b.started_at ? 1 : -1,
  );
}

/** The text of a content block or message; JSON if it has none. */
export function readableText(json: unknown): string {
  if (typeof json === "string") return json;
  if (Array.isArray(json))
    return json
      .map(readableText)
      .filter((text) => text !== "")
      .join("\n\n");
  const part = (json ?? {}) as Readonly<Record<string, unknown>>;
  const text = [part.text, part.thinking].find((text) => typeof text === "string");
  if (typeof text === "string") return text;
  if (typeof part.name === "string" && "input" in part) return `${part.name} ${JSON.stringify(part.input, null, 2)}`;
  if (Array.isArray(part.content) || typeof part.content === "string") return readableText(part.content);
  return JSON.stringify(json, null, 2);
}
