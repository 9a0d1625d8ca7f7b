import type { RecordKey } from "../../core/facts/ids.ts";
import { asList, asNonBlank, asObject, asText } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import * as key from "./keys.ts";
import { mailIn, notificationsIn } from "./mail.ts";
import { itemOf, type Row, textOf } from "./rows.ts";
import { errorText, stateIn } from "./status.ts";
import { shown, toolUseIn } from "./tools.ts";

interface EventContext {
  readonly thread: string;
  readonly keys: readonly RecordKey[];
  readonly response: RecordKey | null;
}

/**
 * The events of a line. Most things are in a file twice, once for the model and once for the product; each is returned
 * once.
 */
export function eventsOf(row: Row, { thread, keys, response }: EventContext): EventDraft[] {
  const base = { speaker: key.thread(thread), keys, at: row.at, tool: null, response };
  const one = (kind: EventDraft["kind"], text: string | null): EventDraft[] =>
    text === null || text.trim() === "" ? [] : [{ ...base, kind, text }];
  const mail = mailIn(row);
  if (mail !== null) {
    if (mail.is === "result") return one("note", notificationText(mail.text ?? "") ?? `${mail.author}: ${mail.text}`);
    const text = mail.text ?? "(encrypted by Codex)";
    return one("user", mail.is === "task" ? text : `${mail.author}: ${text}`);
  }
  const use = toolUseIn(row, thread);
  if (use !== null) {
    const { call, name, input, text, isError } = use;
    const called: EventDraft = {
      ...base,
      kind: "toolCall",
      text: null,
      tool: { name, call, input: shown(input), isError: false },
    };
    const gave: EventDraft = { ...base, kind: "toolResult", text, tool: { name, call, input: null, isError } };
    return use.is === "both" ? [called, gave] : [use.is === "call" ? called : gave];
  }
  return eventsByType(row, one);
}

function eventsByType(row: Row, one: (kind: EventDraft["kind"], text: string | null) => EventDraft[]): EventDraft[] {
  const { payload } = row;
  switch (row.type) {
    case "event_msg/user_message":
      return one("user", asText(payload.message));
    case "response_item/message":
      return messageEvents(row, one);
    case "response_item/reasoning":
      return one("reasoning", reasoningIn(payload.summary) || reasoningIn(payload.content));
    case "compacted":
      return one("compaction", asNonBlank(payload.message) ?? "The conversation was compacted");
    case "event_msg/task_complete":
      return payload.error == null ? [] : one("error", errorText(payload.error));
    case "event_msg/turn_aborted":
      return one("error", `The turn was aborted: ${asNonBlank(payload.reason) ?? "no reason is given"}`);
    case "event_msg/error":
      return one("error", asText(payload.message));
    case "event_msg/entered_review_mode":
      return one("note", `A review began: ${asNonBlank(payload.user_facing_hint) ?? "changes"}`);
    case "event_msg/item_completed": {
      const item = itemOf(row);
      if (item?.type === "UserMessage") return one("user", textOf(item.json.content));
      return item?.type === "EnteredReviewMode"
        ? one("note", `A review began: ${asNonBlank(item.json.user_facing_hint) ?? "changes"}`)
        : [];
    }
    default:
      return [];
  }
}

/** From the context before a user's message, only notifications about children are shown. */
function messageEvents(
  { payload }: Row,
  one: (kind: EventDraft["kind"], text: string | null) => EventDraft[],
): EventDraft[] {
  const text = textOf(payload.content);
  if (payload.role === "assistant") return one("assistant", text);
  return payload.role === "user" ? one("note", notificationText(text)) : [];
}

function notificationText(text: string): string | null {
  const lines = notificationsIn(text).map(({ agent, status }) => {
    const end = stateIn(status);
    const state = end?.state ?? String(status);
    return `${agent} ${state}${end?.result == null ? "" : `: ${end.result}`}`;
  });
  return lines.length === 0 ? null : lines.join("\n");
}

const reasoningIn = (parts: unknown) =>
  asList(parts)
    .flatMap((part) => asNonBlank(asObject(part)?.text) ?? [])
    .join("\n");
