import { LIST_PART } from "../../core/ports/shipment.ts";
import type { AgentShipped } from "../../core/ports/shipped.ts";

/** Equal to no hash, so that the next comparison sends the document again. */
const UNKNOWN = 0;

const NOTHING: AgentShipped = { record: UNKNOWN, events: 0, marks: [], recent: [], spans: [], calls: [], details: {} };

/**
 * What is certain about an agent at the team server while a shipment is under way that leads from one state to another
 * (null: the agent is removed). If the shipment is never acknowledged, the server has either state, and the next
 * comparison replaces whatever differs between the two.
 */
export function inDoubt(before: AgentShipped = NOTHING, after: AgentShipped | null): AgentShipped {
  const to = after ?? NOTHING;
  const marks = samePrefix(before.marks, to.marks);
  // Single hashes can be compared only after the same mark.
  const recent =
    marks.length === before.marks.length && marks.length === to.marks.length
      ? samePrefix(before.recent, to.recent)
      : [];
  const events = marks.length * LIST_PART + recent.length;
  const hasMore = after === null || before.hasMore === true || events < before.events || events < to.events;
  return {
    record: same(before.record, to.record),
    events,
    marks,
    recent,
    hasMore,
    spans: sameParts(before.spans, to.spans),
    calls: sameParts(before.calls, to.calls),
    details: Object.fromEntries(
      [...new Set([...Object.keys(before.details), ...Object.keys(to.details)])].map((name) => [
        name,
        same(before.details[name], to.details[name]),
      ]),
    ),
  };
}

const same = (a: number | undefined, b: number | undefined) => (a === b && a !== undefined ? a : UNKNOWN);

function samePrefix(a: readonly number[], b: readonly number[]): readonly number[] {
  const end = a.findIndex((hash, i) => hash !== b[i]);
  return end < 0 ? a : a.slice(0, end);
}

/** Parts that differ stay in the list, because the server may have them. */
const sameParts = (a: readonly number[], b: readonly number[]) =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, i) => same(a[i], b[i]));
