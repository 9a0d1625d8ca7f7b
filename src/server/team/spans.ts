import type { AgentPlace, Reader } from "../../app/team/store.ts";
import type { SpansAnswer } from "../../core/ports/catalog.ts";
import type { Span } from "../../core/views/span.ts";

/** The spans of these agents that changed after a shipment; all of them if it is null. */
export async function spansSince(
  reader: Reader,
  place: AgentPlace,
  agents: readonly string[],
  after: number | null,
): Promise<SpansAnswer> {
  const lists = await reader.lists<Span>(place, agents, "spans");
  const newest = [...lists.values()].flat().reduce((last, { seq }) => Math.max(last, seq), 0);
  const isWhole = after === null || after > newest;
  const items = agents.flatMap((uri) => {
    const parts = lists.get(uri) ?? [];
    const from = isWhole ? 0 : parts.findIndex(({ seq }) => seq > after);
    if (from < 0) return [];
    const first = parts.slice(0, from).reduce((sum, part) => sum + part.items.length, 0);
    return [{ uri, first, removed: null, spans: parts.slice(from).flatMap((part) => part.items) }];
  });
  return { items, next: `s${newest}`, whole: isWhole };
}
