import type { AgentKey } from "../../core/facts/ids.ts";
import { plural } from "../../core/tools/format.ts";
import { asNonBlank, asObject, asText, isTooDeep } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { retractedIn } from "./conversation.ts";
import * as key from "./keys.ts";
import { isNotification } from "./notification.ts";
import { readUserText } from "./prompt.ts";
import { keysOf, type Row, responseOf, textOf } from "./rows.ts";
import { isRetried } from "./state-after.ts";

/** The events of a record: one for each message, tool call and result. */
export function eventsOf(row: Row, speaker: AgentKey, session: string): EventDraft[] {
  const base = { speaker, keys: keysOf(row, session), at: row.at, tool: null, response: responseOf(row, session) };
  const one = (kind: EventDraft["kind"], text: string | null): EventDraft[] =>
    text === null || text === "" ? [] : [{ ...base, kind, text }];
  switch (row.type) {
    case "assistant":
      if (row.json.isApiErrorMessage === true) return one("error", textOf(row));
      return base.response === null ? [] : blocksOf(row, session, base);
    case "user":
      return row.blocks.some((b) => b.is === "tool-result") ? blocksOf(row, session, base) : userText(row, one);
    case "attachment":
      return one("note", asNonBlank(asObject(row.json.attachment)?.prompt));
    case "system":
      if (row.json.subtype === "compact_boundary")
        return one("compaction", asText(row.json.content) ?? "Conversation compacted");
      if (row.json.subtype === "api_error") return one("error", apiError(row));
      if (isRetried(row)) return one("note", retried(row));
      return one("note", asNonBlank(row.json.content));
    default:
      return [];
  }
}

function blocksOf(row: Row, session: string, base: Omit<EventDraft, "kind" | "text">): EventDraft[] {
  return row.blocks.flatMap((block): EventDraft[] => {
    switch (block.is) {
      case "text":
        return block.text.trim() === ""
          ? []
          : [{ ...base, kind: row.type === "user" ? "user" : "assistant", text: block.text }];
      case "thinking":
        return block.text === "" ? [] : [{ ...base, kind: "reasoning", text: block.text }];
      case "tool-use":
        return [
          {
            ...base,
            kind: "toolCall",
            text: null,
            tool: {
              name: block.name,
              call: key.call(session, block.id),
              input: isTooDeep(block.input) ? null : block.input,
              isError: false,
            },
          },
        ];
      case "tool-result":
        return [
          {
            ...base,
            kind: "toolResult",
            text: block.text,
            tool: { name: null, call: key.call(session, block.id), input: null, isError: block.isError },
          },
        ];
      case "other":
        return [];
      default:
        return block satisfies never;
    }
  });
}

function userText(row: Row, one: (kind: EventDraft["kind"], text: string | null) => EventDraft[]): EventDraft[] {
  const text = textOf(row);
  if (row.json.isCompactSummary === true) return one("compaction", text);
  if (row.json.isMeta === true || isNotification(text)) return one("note", text);
  const parsed = readUserText(text);
  return parsed.is === "prompt" ? one("user", parsed.text) : one("note", text);
}

function retried(row: Row): string {
  const words = asNonBlank(row.json.content) ?? "The model refused; another one was asked";
  const count = retractedIn(row).size;
  return count === 0
    ? words
    : `${words} (${plural(count, "message")} before it ${count === 1 ? "was" : "were"} taken back)`;
}

function apiError(row: Row): string {
  const error = asObject(row.json.error) ?? asObject(row.json.cause);
  const parsed = asNonBlank(error?.message) ?? asNonBlank(asObject(error?.error)?.message) ?? "API error";
  const attempt = row.json.retryAttempt;
  return typeof attempt === "number" ? `${parsed} (retry ${attempt} of ${String(row.json.maxRetries ?? "?")})` : parsed;
}
