import type { EventDocument, ShipmentDocument } from "../../core/ports/shipment.ts";

/** Rows of one statement. */
const CHUNK = 1_000;

export type Value = string | number | null | readonly (string | number | null)[];
/** Runs a statement about the owner of a shipment, within its transaction; the owner is added as the first parameter. */
export type OwnerQuery = <Row extends object>(statement: string, ...parameters: readonly Value[]) => Promise<Row[]>;

export const keyOf = (thread: string, agent: string) => `${thread}\n${agent}`;
export const threadsOf = (list: readonly { readonly thread: string }[]) => list.map(({ thread }) => thread);
export const agentsOf = (list: readonly { readonly agent: string }[]) => list.map(({ agent }) => agent);
export const positionsOf = (list: readonly EventDocument[]) =>
  [threadsOf(list), agentsOf(list), list.map(({ at }) => at)] as const;

/** The newest document of each key. */
export function newest<T extends { readonly revision: number }>(
  documents: readonly T[],
  keyOf: (one: T) => string,
): T[] {
  const found = new Map<string, T>();
  for (const one of documents) {
    const key = keyOf(one);
    const other = found.get(key);
    if (other === undefined || other.revision < one.revision) found.set(key, one);
  }
  return [...found.values()];
}

/** Clocks of machines may be ahead of this one by so much, in microseconds. */
const CLOCK_MARGIN = 86_400_000_000;

/**
 * A revision of the future, of a wrong clock or forged, would win until its time comes, and a machine that has to exceed
 * it would have no higher one in the end. So it becomes the highest one that this time allows, above those that were
 * given before (`ahead`): such documents count in the order in which they arrive. `ahead` of the result is null if there
 * are none.
 */
export function inTime(
  documents: readonly ShipmentDocument[],
  now: number,
  ahead: number,
): { readonly documents: readonly ShipmentDocument[]; readonly ahead: number | null } {
  const limit = now * 1_000 + CLOCK_MARGIN;
  const future = new Set(documents.map(({ revision }) => revision).filter((revision) => revision > limit));
  if (future.size === 0) return { documents, ahead: null };
  const first = Math.max(limit, ahead) + 1;
  const given = new Map([...future].sort((a, b) => a - b).map((revision, i) => [revision, first + i]));
  return {
    documents: documents.map((one) => ({ ...one, revision: given.get(one.revision) ?? one.revision })),
    ahead: first + given.size - 1,
  };
}

export function* chunks<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < list.length; at += CHUNK) yield list.slice(at, at + CHUNK);
}
