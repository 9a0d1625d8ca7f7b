import type { EventDraft } from "../core/event.ts";
import type { RecordPlace, SaidText } from "../core/store.ts";

/** Longer texts are found by their beginning: what follows is mostly pasted. */
const MAX_TEXT = 20_000;
const MAX_INPUT = 2_000;

/** What people and agents said, and what they asked tools to do. What tools answered is not said by anybody, and most of all bytes. */
export function saidIn(draft: EventDraft, place: RecordPlace): SaidText[] {
  const text = wordsIn(draft);
  if (text.trim() === "") return [];
  return [{ speaker: draft.speaker, at: draft.at, record: draft.keys[0] ?? null, place, text }];
}

export function wordsIn(draft: EventDraft): string {
  switch (draft.kind) {
    case "user":
    case "assistant":
    case "reasoning":
    case "compaction":
    case "error":
    case "note":
      return (draft.text ?? "").slice(0, MAX_TEXT);
    case "toolCall":
      return `${draft.tool?.name ?? ""} ${stringsIn(draft.tool?.input).join(" ")}`.slice(0, MAX_INPUT);
    case "toolResult":
      return "";
    default:
      return draft.kind satisfies never;
  }
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
