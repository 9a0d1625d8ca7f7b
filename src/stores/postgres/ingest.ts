import { totalTokens } from "../../core/facts/usage.ts";
import type {
  AgentDocument,
  DetailDocument,
  EventDocument,
  EventsFromDocument,
  ListDocument,
  RemovedDocument,
  ShipmentDocument,
  ShipmentHead,
} from "../../core/ports/shipment.ts";
import { searchedText } from "../../core/views/found-text.ts";
import type { SpentRow } from "../../core/views/stats.ts";
import { Holders } from "./copies.ts";
import type { Database, Queries } from "./database.ts";
import { CHANNEL, INGEST, NOTIFY } from "./ingest-statements.ts";
import { spendersIn, spentOf, sumUp } from "./month-sums.ts";
import { createPartitions } from "./partitions.ts";
import { agentsOf, chunks, inTime, keyOf, newest, type OwnerQuery, positionsOf, threadsOf } from "./shipment-rows.ts";
import { believable, believableUsage, bucketOf, lookupId, plain, UNDATED, wordsFor } from "./values.ts";

/** Threads that a machine is asked for at once. */
const MAX_AGAIN = 100;

export interface Receipt {
  /** Documents that were stored. */
  readonly accepted: number;
  /** Documents that were not newer than what is stored. */
  readonly ignored: number;
  /** The number of this shipment among those of the machine. */
  readonly shipments: number;
  /** If documents were ignored: the highest stored revision of their threads. Otherwise 0. */
  readonly newest: number;
  /** Threads that the machine has to send as a whole. */
  readonly again: readonly string[];
}

export type Ingest = (owner: string, head: ShipmentHead, documents: readonly ShipmentDocument[]) => Promise<Receipt>;

/**
 * Stores a shipment in one transaction; durable when it returns. Newer revisions win, so repeats and other orders lead
 * to the same result.
 */
export function ingester(database: Database, now: () => number = Date.now): Ingest {
  let known = new Set([UNDATED]);
  /** Creates the missing months. Events of months that were dropped for good are left out. */
  const storable = async (documents: readonly ShipmentDocument[]) => {
    const bucket = (one: ShipmentDocument) => (one.is === "event" ? bucketOf(one.event.at, now()) : UNDATED);
    const missing = [...new Set(documents.map(bucket))].filter((one) => !known.has(one));
    if (missing.length === 0) return documents;
    for (const created of await createPartitions(database, missing)) known.add(created);
    return documents.filter((one) => known.has(bucket(one)));
  };
  return async (owner, head, documents) => {
    const store = async () => {
      const kept = await storable(documents);
      const receipt = await database.transaction((queries) => new Shipment(queries, owner, head, now()).store(kept));
      return { ...receipt, ignored: documents.length - receipt.accepted };
    };
    try {
      return await store();
    } catch (error) {
      if (!isWithoutPartition(error)) throw error;
      // Another process has dropped a month.
      known = new Set([UNDATED]);
      return store();
    }
  };
}

/** The code is that of a violated check, of which these tables have none. A cluster passes on the words only. */
const isWithoutPartition = (error: unknown) =>
  error instanceof Error &&
  (("code" in error && error.code === "23514") || error.message.startsWith("no partition of relation"));

/** Where a log was rebuilt: position and revision. */
type Cut = readonly [number, number];
/** The position of a cut that concerns everything about an agent, not only its events. */
const EVERYTHING = -1;

interface Log {
  readonly thread: string;
  readonly agent: string;
  length: number;
  cuts: readonly Cut[];
  /** The shipment with the last cut. */
  cut_seq: number;
}

/** One shipment, within its transaction. */
class Shipment {
  readonly #queries: Queries;
  readonly #owner: string;
  readonly #head: ShipmentHead;
  readonly #now: number;
  readonly #floors = new Map<string, number>();
  readonly #holders: Holders;
  readonly #logs = new Map<string, Log>();
  /** Logs that have to be stored. */
  readonly #changed = new Set<Log>();
  /** Threads whose sums have to be computed again. */
  readonly #touched = new Set<string>();
  #seq = 0;
  #accepted = 0;

  constructor(queries: Queries, owner: string, head: ShipmentHead, now: number) {
    this.#queries = queries;
    this.#owner = owner;
    this.#head = head;
    this.#now = now;
    this.#holders = new Holders(this.#all, head.machine);
  }

  async store(given: readonly ShipmentDocument[]): Promise<Receipt> {
    const head = this.#head;
    const [owner] = await this.#all<{ seq: number; ahead: number }>(INGEST.nextShipment);
    this.#seq = owner?.seq ?? 0;
    const { documents, ahead } = inTime(given, this.#now, owner?.ahead ?? 0);
    if (ahead !== null) await this.#all(INGEST.setAhead, ahead);
    const [machine] = await this.#all<{ shipments: number }>(INGEST.machine, head.machine, head.version);
    await this.#load(documents);
    const spenders = spendersIn(documents);
    const before = await spentOf(this.#all, spenders);
    const { ours, replaced } = await this.#holders.divide(documents);
    for (const one of replaced) await this.#replace(one);
    for (const thread of await this.#holders.hold(ours, this.#floors)) this.#touched.add(thread);
    await this.#apply(ours);
    await sumUp(this.#all, before, await spentOf(this.#all, spenders));
    if (this.#touched.size > 0) {
      const touched = [...this.#touched];
      const holders = touched.map((thread) => this.#holders.of(thread));
      await this.#all(INGEST.threads, this.#seq, touched, holders);
      await this.#all(INGEST.ownerActive, touched);
    }
    await this.#queries.all(NOTIFY, [CHANNEL, JSON.stringify([this.#owner, this.#seq])]);
    const again = await this.#all<{ thread: string }>(INGEST.wanted, head.machine, MAX_AGAIN);
    return {
      accepted: this.#accepted,
      ignored: documents.length - this.#accepted,
      shipments: machine?.shipments ?? 0,
      newest: ours.length === this.#accepted ? 0 : await this.#newest(ours),
      again: again.map(({ thread }) => thread),
    };
  }

  async #apply(documents: readonly ShipmentDocument[]): Promise<void> {
    const removed = documents.filter((one) => one.is === "removed");
    await this.#removeThreads(removed.filter(({ uri, thread }) => uri === thread));
    const removedAgents = removed.filter(({ uri, thread }) => uri !== thread);
    await this.#agents([...documents.filter((one) => one.is === "agent"), ...removedAgents]);
    for (const one of removedAgents) await this.#removeAgent(one);
    for (const cut of documents.filter((one) => one.is === "events-from")) await this.#cut(cut);
    await this.#events(documents.filter((one) => one.is === "event"));
    await this.#lists(documents.filter((one): one is ListDocument => one.is === "spans" || one.is === "calls"));
    await this.#details(documents.filter((one) => one.is === "detail"));
    await this.#saveLogs();
  }

  /** Removes the copy of another machine. */
  async #replace({ thread, revision }: RemovedDocument): Promise<void> {
    await this.#all(INGEST.replaceAgents, thread, revision, this.#seq);
    await this.#removePartsOf(thread, Number.MAX_SAFE_INTEGER);
    await this.#all(INGEST.replaceLogs, thread, this.#seq);
    await this.#all(INGEST.setFloor, thread, revision);
    for (const log of this.#logs.values())
      if (log.thread === thread) Object.assign(log, { length: 0, cuts: [], cut_seq: this.#seq });
    this.#floors.set(thread, revision);
    this.#touched.add(thread);
    this.#accepted += 1;
  }

  async #newest(documents: readonly ShipmentDocument[]): Promise<number> {
    const threads = [...new Set(threadsOf(documents))];
    const rows = await this.#all<{ revision: number }>(INGEST.newestRevision, threads);
    return Math.max(0, ...rows.map(({ revision }) => revision), ...this.#floors.values());
  }

  readonly #all: OwnerQuery = (statement, ...parameters) => this.#queries.all(statement, [this.#owner, ...parameters]);

  async #load(documents: readonly ShipmentDocument[]): Promise<void> {
    const threads = [...new Set(documents.map(({ thread }) => thread))];
    const stored = await this.#all<{ thread: string; floor: number; machine: string | null }>(INGEST.floors, threads);
    for (const { thread, floor, machine } of stored) {
      this.#floors.set(thread, floor);
      this.#holders.set(thread, machine);
    }
    for (const one of documents)
      if ("agent" in one || one.is === "removed") {
        const agent = "agent" in one ? one.agent : one.uri;
        this.#logs.set(keyOf(one.thread, agent), { thread: one.thread, agent, length: 0, cuts: [], cut_seq: 0 });
      }
    for (const part of chunks([...this.#logs.values()]))
      for (const row of await this.#all<Log & { cuts: string }>(INGEST.logs, threadsOf(part), agentsOf(part))) {
        const cuts = JSON.parse(row.cuts) as Cut[];
        this.#logs.set(keyOf(row.thread, row.agent), { ...row, cuts });
      }
  }

  #logOf(thread: string, agent: string): Log {
    const log = this.#logs.get(keyOf(thread, agent));
    if (log === undefined) throw new Error(`no log was loaded for ${agent}`);
    return log;
  }

  /** Whether the thread, or what is about the agent from this position on, was removed after this revision. */
  #isVoid({ thread, revision }: ShipmentDocument, agent: string | null = null, position = EVERYTHING): boolean {
    if (revision < (this.#floors.get(thread) ?? 0)) return true;
    return agent !== null && revision < floorAt(this.#logOf(thread, agent).cuts, position);
  }

  async #removeThreads(removed: readonly RemovedDocument[]): Promise<void> {
    const last = newest(removed, ({ thread }) => thread).filter(
      ({ thread, revision }) => revision > (this.#floors.get(thread) ?? 0),
    );
    for (const { thread, revision } of last) {
      await this.#all(INGEST.removeAgentsOfThread, thread, revision, this.#seq);
      await this.#removePartsOf(thread, revision);
      await this.#all(INGEST.shortenLogs, thread);
      for (const log of this.#logs.values()) if (log.thread === thread) log.length = await this.#lengthOf(log);
      this.#floors.set(thread, revision);
      this.#touched.add(thread);
    }
    const revisions = last.map(({ revision }) => revision);
    if (last.length > 0) await this.#all(INGEST.raiseFloors, this.#seq, threadsOf(last), revisions);
    this.#accepted += last.length;
  }

  /** Everything about the agents of a thread with a lower revision. */
  async #removePartsOf(thread: string, revision: number): Promise<void> {
    await this.#all(INGEST.removeEventsOfThread, thread, revision);
    await this.#all(INGEST.removeListsOfThread, thread, revision);
    await this.#all(INGEST.removeDetailsOfThread, thread, revision);
    await this.#all(INGEST.removeSpentOfThread, thread, revision);
  }

  async #agents(documents: readonly (AgentDocument | RemovedDocument)[]): Promise<void> {
    const rows = newest(documents, ({ thread, uri }) => keyOf(thread, uri)).filter((one) => !this.#isVoid(one));
    for (const part of chunks(rows)) {
      const column = <T extends string | number | null>(of: (record: AgentDocument["record"]) => T, none: T) =>
        part.map((one) => (one.is === "agent" ? of(one.record) : none));
      const stored = await this.#all<{ thread: string; uri: string }>(
        INGEST.agents,
        this.#seq,
        threadsOf(part),
        part.map(({ uri }) => uri),
        part.map((one) => (one.is === "agent" ? one.parent : null)),
        part.map((one) => (one.is === "agent" ? one.place : 0)),
        part.map(({ revision }) => revision),
        column(({ provider }) => plain(provider), ""),
        column(({ sessionId }) => plain(sessionId), ""),
        column(({ agentId }) => plain(agentId), null),
        column(({ type }) => plain(type), null),
        column(({ project }) => plain(project), null),
        column(({ cwd }) => plain(cwd), null),
        column(({ status }) => status, ""),
        column(({ counts }) => counts.refused, 0),
        column(({ startedAt }) => believable(startedAt), null),
        column(({ lastActivityAt }) => believable(lastActivityAt), null),
        column((record) => JSON.stringify(record), ""),
      );
      const fresh = new Set(stored.map(({ thread, uri }) => keyOf(thread, uri)));
      for (const one of part.filter(({ thread, uri }) => fresh.has(keyOf(thread, uri)))) {
        this.#touched.add(one.thread);
        this.#accepted += 1;
      }
    }
  }

  /** Also if the agent came back since then: what was about it before is void. */
  async #removeAgent({ thread, uri, revision }: RemovedDocument): Promise<void> {
    const log = this.#logOf(thread, uri);
    if (revision <= floorAt(log.cuts, EVERYTHING)) return;
    await this.#cutLog(log, [EVERYTHING, revision]);
    await this.#all(INGEST.removeListsOfAgent, thread, uri, revision);
    await this.#all(INGEST.removeDetailsOfAgent, thread, uri, revision);
    await this.#all(INGEST.removeSpentOfAgent, thread, uri, revision);
  }

  async #cut(document: EventsFromDocument): Promise<void> {
    const { thread, agent, at, revision } = document;
    const log = this.#logOf(thread, agent);
    if (this.#isVoid(document) || revision <= floorAt(log.cuts, at)) return;
    await this.#cutLog(log, [at, revision]);
    this.#accepted += 1;
  }

  async #cutLog(log: Log, cut: Cut): Promise<void> {
    await this.#all(INGEST.removeEventsFrom, log.thread, log.agent, ...cut);
    log.length = await this.#lengthOf(log);
    // Cuts that the new one includes are dropped.
    log.cuts = [...log.cuts.filter(([at, revision]) => at < cut[0] || revision > cut[1]), cut];
    log.cut_seq = this.#seq;
    this.#changed.add(log);
  }

  async #lengthOf({ thread, agent }: Log): Promise<number> {
    const [row] = await this.#all<{ length: number }>(INGEST.lengthOfLog, thread, agent);
    return row?.length ?? 0;
  }

  async #events(documents: readonly EventDocument[]): Promise<void> {
    const placeOf = (thread: string, agent: string, at: number) => `${at} ${keyOf(thread, agent)}`;
    const candidates = newest(documents, ({ thread, agent, at }) => placeOf(thread, agent, at)).filter(
      (one) => !this.#isVoid(one, one.agent, one.at),
    );
    // Positions beyond the end of a log are new, so appending does not look at stored events.
    const within = candidates.filter(({ thread, agent, at }) => at < this.#logOf(thread, agent).length);
    const stored = new Map<string, { readonly revision: number }>();
    for (const part of chunks(within))
      for (const row of await this.#all<{
        thread: string;
        agent: string;
        position: number;
        revision: number;
        id: string;
      }>(INGEST.storedEvents, ...positionsOf(part)))
        stored.set(placeOf(row.thread, row.agent, row.position), row);
    const before = ({ thread, agent, at }: EventDocument) => stored.get(placeOf(thread, agent, at));
    const fresh = candidates.filter((one) => {
      const known = before(one);
      return known === undefined || known.revision < one.revision;
    });
    for (const part of chunks(fresh.filter((one) => before(one) !== undefined)))
      await this.#all(INGEST.removeEvents, ...positionsOf(part));
    for (const part of chunks(fresh)) await this.#insert(part);
    for (const { thread, agent, at } of fresh) {
      const log = this.#logOf(thread, agent);
      log.length = Math.max(log.length, at + 1);
      this.#changed.add(log);
      this.#touched.add(thread);
    }
    this.#accepted += fresh.length;
  }

  async #insert(documents: readonly EventDocument[]): Promise<void> {
    const column = <T>(of: (event: EventDocument["event"]) => T) => documents.map(({ event }) => of(event));
    await this.#all(
      INGEST.events,
      this.#seq,
      ...positionsOf(documents),
      column(({ at }) => bucketOf(at, this.#now)),
      documents.map(({ revision }) => revision),
      column(({ id }) => lookupId(id)),
      column(({ at }) => believable(at)),
      column(({ kind }) => kind),
      column((event) => JSON.stringify(event)),
      column((event) => wordsFor(this.#owner, searchedText(event))),
    );
  }

  async #lists(documents: readonly ListDocument[]): Promise<void> {
    const rows = newest(documents, ({ thread, agent, is, at }) => `${is} ${at} ${keyOf(thread, agent)}`).filter(
      (one) => !this.#isVoid(one, one.agent),
    );
    for (const part of chunks(rows)) {
      const stored = await this.#all(
        INGEST.lists,
        this.#seq,
        threadsOf(part),
        agentsOf(part),
        part.map(({ is }) => is),
        part.map(({ at }) => at),
        part.map(({ revision }) => revision),
        part.map(({ items }) => JSON.stringify(items)),
      );
      this.#accepted += stored.length;
    }
  }

  async #details(documents: readonly DetailDocument[]): Promise<void> {
    const rows = newest(documents, ({ thread, agent, what }) => `${what} ${keyOf(thread, agent)}`).filter(
      (one) => !this.#isVoid(one, one.agent),
    );
    for (const part of chunks(rows)) {
      const stored = await this.#all<{ thread: string; agent: string; what: string }>(
        INGEST.details,
        threadsOf(part),
        agentsOf(part),
        part.map(({ what }) => what),
        part.map(({ revision }) => revision),
        part.map(({ value }) => JSON.stringify(value)),
      );
      this.#accepted += stored.length;
      const fresh = new Set(
        stored.filter(({ what }) => what === "spent").map(({ thread, agent }) => keyOf(thread, agent)),
      );
      await this.#spent(part.filter(({ what, thread, agent }) => what === "spent" && fresh.has(keyOf(thread, agent))));
    }
  }

  async #spent(documents: readonly DetailDocument[]): Promise<void> {
    if (documents.length === 0) return;
    await this.#all(INGEST.removeSpent, threadsOf(documents), agentsOf(documents));
    const rows = documents.flatMap(({ thread, agent, revision, value }) =>
      (value as readonly SpentRow[]).map((row, n) => ({
        thread,
        agent,
        revision,
        // A forged row may name the thread of somebody else.
        row: { ...believableUsage(row), thread },
        n,
      })),
    );
    for (const part of chunks(rows)) {
      const column = <T>(of: (row: SpentRow) => T) => part.map(({ row }) => of(row));
      await this.#all(
        INGEST.spent,
        threadsOf(part),
        agentsOf(part),
        part.map(({ n }) => n),
        part.map(({ revision }) => revision),
        column(({ day }) => day),
        column(({ model }) => plain(model)),
        column(({ type }) => plain(type)),
        column(({ project }) => plain(project)),
        column(({ usage }) => usage.costUsd),
        column(({ usage }) => totalTokens(usage)),
        column(({ usage }) => usage.calls),
        column((row) => JSON.stringify(row)),
      );
    }
  }

  async #saveLogs(): Promise<void> {
    for (const part of chunks([...this.#changed]))
      await this.#all(
        INGEST.saveLogs,
        threadsOf(part),
        agentsOf(part),
        part.map(({ length }) => length),
        part.map(({ cuts }) => JSON.stringify(cuts)),
        part.map(({ cut_seq }) => cut_seq),
      );
  }
}

/** Events at this position with a lower revision are void. */
const floorAt = (cuts: readonly Cut[], position: number) =>
  cuts.reduce((floor, [from, revision]) => (from <= position ? Math.max(floor, revision) : floor), 0);
