import type { EventDraft } from "../../core/event.ts";
import type { RecordKey } from "../../core/ids.ts";
import { asList, asObject, asText, asWords } from "../../core/json.ts";
import * as key from "./keys.ts";
import { mailIn, notificationsIn } from "./mail.ts";
import { itemOf, type Row, textOf } from "./rows.ts";
import { errorWords, stateIn } from "./status.ts";
import { toolUseIn } from "./tools.ts";

interface Told {
  readonly thread: string;
  readonly keys: readonly RecordKey[];
  readonly response: RecordKey | null;
}

/** A line as people want to read it. Most things stand in a file twice, as the model and as the product see them: each is told once. */
export function eventsOf(row: Row, { thread, keys, response }: Told): EventDraft[] {
  const base = { speaker: key.thread(thread), keys, at: row.at, tool: null, response };
  const one = (kind: EventDraft["kind"], text: string | null): EventDraft[] => (text === null || text.trim() === "" ? [] : [{ ...base, kind, text }]);
  const mail = mailIn(row);
  if (mail !== null) {
    if (mail.is === "result") return one("note", notificationWords(mail.text ?? "") ?? `${mail.author}: ${mail.text}`);
    const words = mail.text ?? "(encrypted by Codex)";
    return one("user", mail.is === "task" ? words : `${mail.author}: ${words}`);
  }
  const use = toolUseIn(row, thread);
  if (use !== null) {
    const { call, name, input, text, isError } = use;
    const called: EventDraft = { ...base, kind: "toolCall", text: null, tool: { name, call, input, isError: false } };
    const gave: EventDraft = { ...base, kind: "toolResult", text, tool: { name, call, input: null, isError } };
    return use.is === "both" ? [called, gave] : [use.is === "call" ? called : gave];
  }
  return spoken(row, one);
}

function spoken(row: Row, one: (kind: EventDraft["kind"], text: string | null) => EventDraft[]): EventDraft[] {
  const { payload } = row;
  switch (row.type) {
    case "event_msg/user_message":
      return one("user", asText(payload.message));
    case "response_item/message":
      return messageEvents(row, one);
    case "response_item/reasoning":
      return one("reasoning", reasoningIn(payload.summary) || reasoningIn(payload.content));
    case "compacted":
      return one("compaction", asWords(payload.message) ?? "The conversation was compacted");
    case "event_msg/task_complete":
      return payload.error == null ? [] : one("error", errorWords(payload.error));
    case "event_msg/turn_aborted":
      return one("error", `The turn was aborted: ${asWords(payload.reason) ?? "no reason is given"}`);
    case "event_msg/error":
      return one("error", asText(payload.message));
    case "event_msg/entered_review_mode":
      return one("note", `A review began: ${asWords(payload.user_facing_hint) ?? "changes"}`);
    case "event_msg/item_completed": {
      const item = itemOf(row);
      if (item?.type === "UserMessage") return one("user", textOf(item.json.content));
      return item?.type === "EnteredReviewMode" ? one("note", `A review began: ${asWords(item.json.user_facing_hint) ?? "changes"}`) : [];
    }
    default:
      return [];
  }
}

/** Of what is put before a user's words only the word about a child is of interest. */
function messageEvents({ payload }: Row, one: (kind: EventDraft["kind"], text: string | null) => EventDraft[]): EventDraft[] {
  const text = textOf(payload.content);
  if (payload.role === "assistant") return one("assistant", text);
  return payload.role === "user" ? one("note", notificationWords(text)) : [];
}

function notificationWords(text: string): string | null {
  const words = notificationsIn(text).map(({ agent, status }) => {
    const told = stateIn(status);
    const state = told?.state ?? String(status);
    return `${agent} ${state}${told?.result == null ? "" : `: ${told.result}`}`;
  });
  return words.length === 0 ? null : words.join("\n");
}

const reasoningIn = (parts: unknown) =>
  asList(parts)
    .flatMap((part) => asWords(asObject(part)?.text) ?? [])
    .join("\n");
