import type { EventDraft } from "../core/event.ts";
import { partsOf } from "../core/ids.ts";
import { PROVIDERS } from "../providers/index.ts";

/** What an event says to people whose text is markup of the product; null for what people and agents said themselves. */
export function summaryOf({ speaker, kind, text }: Pick<EventDraft, "speaker" | "kind" | "text">): string | null {
  // What people typed may speak of markup; it is markup where it begins with it.
  if (text === null || !(kind === "note" || (kind === "user" && text.trimStart().startsWith("<")))) return null;
  const { provider } = partsOf(speaker);
  return PROVIDERS.find(({ name }) => name === provider)?.inWords?.(text) ?? null;
}
