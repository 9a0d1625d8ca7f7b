import { recordIn } from "../../core/facts/ids.ts";
import type { Parser } from "../../core/ports/provider.ts";
import type { IndexedText, RecordPlace } from "../../core/ports/store.ts";
import type { EventDraft } from "../../core/views/event.ts";
import type { RecordLine } from "../../transports/lines.ts";

/** Longer texts are found by their beginning: what follows is mostly pasted. */
const MAX_TEXT = 20_000;
const MAX_INPUT = 2_000;

/** The text to index: messages and the inputs of tools. Tool results, which are most of the bytes, are not indexed. */
export function indexedTexts(draft: EventDraft, place: RecordPlace): IndexedText[] {
  const text = wordsIn(draft);
  if (text.trim() === "") return [];
  return [{ speaker: draft.speaker, at: draft.at, record: recordIn(draft) ?? null, place, text }];
}

/** The same of a line that was handed to the parser just before. */
export const indexedTextsOfLine = (parser: Parser, { bytes, number, offset }: RecordLine): IndexedText[] =>
  parser.events(bytes, number).flatMap((draft) => indexedTexts(draft, { line: number, offset }));

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
