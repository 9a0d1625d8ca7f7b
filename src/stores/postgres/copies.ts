import type { AgentDocument, RemovedDocument, ShipmentDocument } from "../../core/ports/shipment.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import { isAhead } from "../../core/views/shared-tree.ts";

/** What to do with the documents of a machine about threads that other machines of the owner hold. */
export interface Division {
  /** To be stored. */
  readonly ours: readonly ShipmentDocument[];
  /** Threads whose stored copy is replaced by the one in this shipment. */
  readonly replaced: readonly RemovedDocument[];
  /** Threads that the machine has a copy of; `wanted` if that copy is ahead and is to be sent as a whole. */
  readonly noted: readonly { readonly thread: string; readonly wanted: boolean }[];
}

/**
 * A thread is stored from one machine at a time, its holder: two machines with the same thread (a synced home folder, a
 * restored backup) number their events independently, so their documents must not be combined. Documents of other
 * machines are not stored. If their copy is ahead, they are asked to send it as a whole: a removal and the top-level
 * agent in one shipment, which replaces the stored copy.
 *
 * `foreign`: threads that another machine holds. `stored`: their top-level agents.
 */
export function divide(
  documents: readonly ShipmentDocument[],
  foreign: ReadonlySet<string>,
  stored: ReadonlyMap<string, AgentRecord>,
): Division {
  if (foreign.size === 0) return { ours: documents, replaced: [], noted: [] };
  const removals = new Map<string, RemovedDocument>();
  const roots = new Map<string, AgentDocument>();
  for (const one of documents) {
    if (!foreign.has(one.thread) || !("uri" in one) || one.uri !== one.thread) continue;
    if (one.is === "removed") removals.set(one.thread, newer(one, removals.get(one.thread)));
    else roots.set(one.thread, newer(one, roots.get(one.thread)));
  }
  const replaced: RemovedDocument[] = [];
  const noted: { thread: string; wanted: boolean }[] = [];
  for (const [thread, root] of roots) {
    const known = stored.get(thread);
    const isBetter = known === undefined || isAhead(root.record, known);
    const removal = removals.get(thread);
    if (isBetter && removal !== undefined && removal.revision < root.revision) replaced.push(removal);
    else noted.push({ thread, wanted: isBetter });
  }
  const taken = new Set(replaced.map(({ thread }) => thread));
  return { ours: documents.filter(({ thread }) => !foreign.has(thread) || taken.has(thread)), replaced, noted };
}

const newer = <T extends { readonly revision: number }>(one: T, other: T | undefined): T =>
  other === undefined || other.revision < one.revision ? one : other;
