import type { EventDocument } from "../../core/ports/shipment.ts";

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

export function* chunks<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < list.length; at += CHUNK) yield list.slice(at, at + CHUNK);
}
