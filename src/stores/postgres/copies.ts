import type { AgentDocument, RemovedDocument, ShipmentDocument } from "../../core/ports/shipment.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import { isAhead } from "../../core/views/shared-tree.ts";
import { INGEST } from "./ingest-statements.ts";
import { type OwnerQuery, threadsOf } from "./shipment-rows.ts";

/** Which machine holds each thread of a shipment: the one whose copy is stored. */
export class Holders {
  readonly #query: OwnerQuery;
  readonly #machine: string;
  /** Null if the thread was removed. */
  readonly #holders = new Map<string, string | null>();

  /** `machine` sends the shipment. */
  constructor(query: OwnerQuery, machine: string) {
    this.#query = query;
    this.#machine = machine;
  }

  set(thread: string, machine: string | null): void {
    this.#holders.set(thread, machine);
  }

  of(thread: string): string | null {
    return this.#holders.get(thread) ?? null;
  }

  /** The documents that may be stored, and the threads whose stored copy they replace. Notes who has a copy. */
  async divide(documents: readonly ShipmentDocument[]): Promise<Pick<Division, "ours" | "replaced">> {
    const isForeign = (thread: string) => (this.of(thread) ?? this.#machine) !== this.#machine;
    const foreign = new Set([...this.#holders.keys()].filter(isForeign));
    const stored =
      foreign.size === 0 ? [] : await this.#query<{ thread: string; record: string }>(INGEST.rootRecords, [...foreign]);
    const records = new Map(stored.map(({ thread, record }) => [thread, JSON.parse(record) as AgentRecord]));
    const { ours, replaced, noted } = divide(documents, foreign, records);
    // A machine that removes a thread sends it as a whole afterwards, or no longer has it.
    const sent = documents.filter((one) => one.is === "removed" && one.uri === one.thread);
    if (sent.length > 0) await this.#query(INGEST.dropCopies, this.#machine, threadsOf(sent));
    // The former holder has a copy, too.
    const copies = [
      ...noted.map((one) => ({ ...one, machine: this.#machine })),
      ...replaced.map(({ thread }) => ({ thread, wanted: false, machine: this.of(thread) })),
    ];
    const machines = copies.map(({ machine }) => machine);
    const wanted = copies.map((one) => String(one.wanted));
    if (copies.length > 0) await this.#query(INGEST.noteCopies, threadsOf(copies), machines, wanted);
    return { ours, replaced };
  }

  /**
   * The machine holds the threads that it sends, and gives up those that it only removes; then other copies are asked
   * for. Returns the threads that it did not hold before. `floors`: documents of a thread below this revision are void.
   */
  async hold(documents: readonly ShipmentDocument[], floors: ReadonlyMap<string, number>): Promise<string[]> {
    const [taken, given]: [string[], string[]] = [[], []];
    for (const [thread, list] of Map.groupBy(documents, (one) => one.thread)) {
      const isRemoval = (one: ShipmentDocument) => one.is === "removed" && one.uri === thread;
      const removals = list.filter(isRemoval).map(({ revision }) => revision);
      const floor = Math.max(floors.get(thread) ?? 0, ...removals);
      const isHeld = list.some((one) => !isRemoval(one) && one.revision >= floor);
      if (isHeld && this.of(thread) === null) taken.push(thread);
      if (!isHeld && removals.length > 0) given.push(thread);
      if (isHeld || removals.length > 0) this.#holders.set(thread, isHeld ? this.#machine : null);
    }
    if (given.length > 0) await this.#query(INGEST.wantCopies, given);
    return taken;
  }
}

/** What to do with the documents of a machine about threads that other machines of the owner hold. */
interface Division {
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
function divide(
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
