import { partsOf } from "../../core/facts/ids.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { PROVIDERS } from "../../providers/loaded.ts";

/** A readable sentence for an event whose text is the product's markup; null for other events. */
export function summaryOf({ speaker, kind, text }: Pick<EventDraft, "speaker" | "kind" | "text">): string | null {
  // A user may write about markup; it counts only at the beginning of the text.
  if (text === null || !(kind === "note" || (kind === "user" && text.trimStart().startsWith("<")))) return null;
  const { provider } = partsOf(speaker);
  return PROVIDERS.find(({ name }) => name === provider)?.asSentence?.(text) ?? null;
}
