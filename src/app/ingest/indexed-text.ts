import { recordIn } from "../../core/facts/ids.ts";
import type { Parser } from "../../core/ports/provider.ts";
import type { IndexedText, RecordPlace } from "../../core/ports/store.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { searchedText } from "../../core/views/found-text.ts";
import type { RecordLine } from "../../transports/lines.ts";

/** The text to index: messages and the inputs of tools. Tool results, which are most of the bytes, are not indexed. */
export function indexedTexts(draft: EventDraft, place: RecordPlace): IndexedText[] {
  const text = searchedText(draft);
  if (text.trim() === "") return [];
  return [{ speaker: draft.speaker, at: draft.at, record: recordIn(draft) ?? null, place, text }];
}

/** The text of a line that was passed to the parser just before. */
export const indexedTextsOfLine = (parser: Parser, { bytes, number, offset }: RecordLine): IndexedText[] =>
  parser.events(bytes, number).flatMap((draft) => indexedTexts(draft, { line: number, offset }));
