import type { ThreadsQuery } from "../../core/ports/catalog.ts";
import type { SharedDetails } from "../../core/ports/shipment.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import type { SharedAgent } from "../../core/views/shared-tree.ts";
import type { Parameter, Queries } from "./database.ts";
import { eachOwner } from "./each-owner.ts";
import { READER } from "./reader-statements.ts";
import type { Position } from "./replicas.ts";
import { UsageReader } from "./usage.ts";
import { lookupId, monthOfDay, searchFor } from "./values.ts";

/** An agent of an owner. */
export interface AgentPlace {
  readonly owner: string;
  readonly thread: string;
  readonly uri: string;
}

export interface NamedAgent extends AgentPlace {
  readonly provider: string;
  readonly sessionId: string;
  readonly agentId: string | null;
}

/** A position in the list of threads. */
export interface ThreadPosition {
  readonly activeAt: string;
  readonly thread: string;
  readonly owner: string;
}

export interface ThreadRow extends ThreadPosition {
  readonly record: AgentRecord;
}

/** Changes of an owner in a range of shipments. */
export interface OwnerChanges {
  /** Null if the agent no longer exists. */
  readonly agents: readonly { readonly thread: string; readonly uri: string; readonly record: AgentRecord | null }[];
  readonly events: readonly { readonly thread: string; readonly agent: string; readonly event: AgentEvent }[];
  /** Agents whose spans changed. */
  readonly spans: readonly { readonly thread: string; readonly agent: string }[];
  /** Agents whose events have to be fetched again. */
  readonly cuts: readonly { readonly thread: string; readonly agent: string }[];
  /** The parent of each agent of the threads that changed. */
  readonly parents: ReadonlyMap<string, string | null>;
}

/** Matching texts of one owner that a search compares: as many as all owners together may have, within limits. */
const LOOKED_AT = 20_000;
const MIN_LOOKED_AT = 20;
const MAX_LOOKED_AT = 5_000;
/** With so many matching texts, no further owners are asked. */
const ENOUGH_FOUND = 1_000;
/** Texts of this many days are compared first. */
const RECENT_DAYS = 31;

interface FoundPlace {
  readonly thread: string;
  readonly agent: string;
  readonly position: number;
}

interface FoundText extends FoundPlace {
  readonly size: number;
  readonly at: Date | null;
}

/** Owners who are asked at the same time. */
const ASKED_AT_ONCE = 64;
/** Later than any time of an event. */
const LATEST = "9999-12-31T00:00:00.000Z";

/** Reads what was shipped. Each query is about one owner. */
export class Reader {
  readonly usage: UsageReader;
  readonly #queries: Queries;
  readonly #newest: (owners: readonly string[]) => Promise<readonly Position[]>;

  /** `newest` reads the positions that `newestSeqs` returns, if `queries` may be behind. */
  constructor(queries: Queries, newest?: (owners: readonly string[]) => Promise<readonly Position[]>) {
    this.#queries = queries;
    this.usage = new UsageReader(queries);
    this.#newest = newest ?? ((owners) => queries.all<Position>(READER.seqs, [[...owners]]));
  }

  /** The number of the last shipment of each owner; 0 if there was none. */
  async seqs(owners: readonly string[]): Promise<Map<string, number>> {
    return positionsOf(owners, await this.#queries.all<Position>(READER.seqs, [[...owners]]));
  }

  /** The same, of the primary. What is read afterwards is not older. */
  async newestSeqs(owners: readonly string[]): Promise<Map<string, number>> {
    return positionsOf(owners, await this.#newest(owners));
  }

  /** The newest activity first; among equals, by thread and owner. */
  async threads(
    owners: readonly string[],
    query: Omit<ThreadsQuery, "cursor">,
    after: ThreadPosition | null,
  ): Promise<ThreadRow[]> {
    const { since, provider = null, project = null, status, running, cwd, limit } = query;
    if (running === true && status !== undefined && status !== "running") return [];
    const parametersOf = (owner: string) => [
      after?.activeAt ?? LATEST,
      after?.thread ?? "",
      after !== null && owner <= after.owner,
      since === undefined ? null : new Date(since).toISOString(),
      provider,
      project,
      running === true ? "running" : (status ?? null),
      cwd === undefined ? null : cwd.replace(/(?<=.)[\\/]+$/, ""),
      limit,
    ];
    const found = await this.#newestThreads(owners, limit, parametersOf);
    // Records are large: only those that are shown are read.
    const uris = Map.groupBy(found, ({ owner }) => owner);
    const records = await eachOwner<{ uri: string; record: string }>(
      this.#queries,
      [...uris.keys()],
      READER.threadRecords,
      (owner) => [(uris.get(owner) ?? []).map(({ thread }) => thread)],
    );
    const byName = new Map(records.map(({ owner, row }) => [`${owner} ${row.uri}`, row.record]));
    return found.flatMap((one) => {
      const record = byName.get(`${one.owner} ${one.thread}`);
      // It was removed in the meantime.
      return record === undefined ? [] : [{ ...one, record: parsed<AgentRecord>(record) }];
    });
  }

  /** Asks the owners who were active last, until no other one can have a newer thread. */
  async #newestThreads(
    owners: readonly string[],
    limit: number,
    parametersOf: (owner: string) => readonly Parameter[],
  ): Promise<ThreadPosition[]> {
    const left = await this.#queries.all<{ owner: string; active_at: Date }>(READER.activity, [[...owners]]);
    let found: ThreadPosition[] = [];
    while (left.length > 0) {
      const last = found.length < limit ? undefined : found.at(-1);
      if (last !== undefined && last.activeAt > (left[0]?.active_at.toISOString() ?? "")) break;
      const asked = left.splice(0, ASKED_AT_ONCE).map(({ owner }) => owner);
      const rows = await eachOwner<{ thread: string; active_at: Date }>(
        this.#queries,
        asked,
        READER.threads,
        parametersOf,
      );
      found = [
        ...found,
        ...rows.map(({ owner, row }) => ({ owner, thread: row.thread, activeAt: row.active_at.toISOString() })),
      ]
        .sort((a, b) => order(b.activeAt, a.activeAt) || order(b.thread, a.thread) || order(a.owner, b.owner))
        .slice(0, limit);
    }
    return found;
  }

  /** Records of top-level agents by owner and URI. */
  async threadRecords(
    owners: readonly string[],
    uris: readonly string[],
  ): Promise<readonly (AgentRecord & { readonly owner: string })[]> {
    if (uris.length === 0) return [];
    const rows = await eachOwner<{ record: string }>(this.#queries, owners, READER.threadRecords, () => [[...uris]]);
    return rows.map(({ owner, row }) => ({ ...parsed<AgentRecord>(row.record), owner }));
  }

  agentsAt(owners: readonly string[], uri: string): Promise<NamedAgent[]> {
    return this.#named(owners, READER.agentByUri, uri);
  }

  agentsNamed(owners: readonly string[], prefix: string): Promise<NamedAgent[]> {
    return this.#named(owners, READER.agentsNamed, `${prefix.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`);
  }

  async #named(owners: readonly string[], statement: string, name: string): Promise<NamedAgent[]> {
    // PostgreSQL's text cannot contain it, so nothing has such a name.
    if (name.includes("\0")) return [];
    const rows = await eachOwner<{
      thread: string;
      uri: string;
      provider: string;
      session_id: string;
      agent_id: string | null;
    }>(this.#queries, owners, statement, () => [name]);
    return rows.map(({ owner, row: { thread, uri, provider, session_id, agent_id } }) => ({
      owner,
      thread,
      uri,
      provider,
      sessionId: session_id,
      agentId: agent_id,
    }));
  }

  /** All agents of a thread, by URI. */
  async agents({ owner, thread }: Pick<AgentPlace, "owner" | "thread">): Promise<Map<string, SharedAgent>> {
    const rows = await this.#queries.all<{ uri: string; parent: string | null; place: number; record: string }>(
      READER.agentsOfThread,
      [owner, thread],
    );
    return new Map(
      rows.map(({ uri, parent, place, record }) => [
        uri,
        { place, record: { ...parsed<AgentRecord>(record), parent } },
      ]),
    );
  }

  /** The length of an agent's log, and the shipment that last made a part of it void. */
  async log({ owner, thread, uri }: AgentPlace): Promise<{ readonly length: number; readonly cut: number }> {
    const [row] = await this.#queries.all<{ length: number; cut_seq: number }>(READER.log, [owner, thread, uri]);
    return { length: row?.length ?? 0, cut: row?.cut_seq ?? 0 };
  }

  /** Events of one agent from a position on. */
  async events(
    { owner, thread, uri }: AgentPlace,
    from: number,
    limit: number,
  ): Promise<{ readonly position: number; readonly event: AgentEvent }[]> {
    const rows = await this.#queries.all<{ position: number; event: string }>(READER.eventsOfAgent, [
      owner,
      thread,
      uri,
      from,
      limit,
    ]);
    return rows.map(({ position, event }) => ({ position, event: parsed<AgentEvent>(event) }));
  }

  /** The last shipment that made events of these agents void. */
  async lastCut({ owner, thread }: AgentPlace, agents: readonly string[]): Promise<number> {
    const [row] = await this.#queries.all<{ seq: number }>(READER.lastCut, [owner, thread, [...agents]]);
    return row?.seq ?? 0;
  }

  /** How many events these agents had at a shipment, and how many they have. */
  async countEvents(
    { owner, thread }: AgentPlace,
    agents: readonly string[],
    seq: number,
  ): Promise<{ readonly before: number; readonly total: number }> {
    const [row] = await this.#queries.all<{ before: number; total: number }>(READER.countEvents, [
      owner,
      thread,
      [...agents],
      seq,
    ]);
    return row ?? { before: 0, total: 0 };
  }

  /**
   * Events of these agents up to a shipment by time, or after it in order of arrival; of the same time, in the order of
   * the agents.
   */
  async merged(
    { owner, thread }: AgentPlace,
    agents: readonly string[],
    seq: number,
    part: "history" | "arrivals",
    offset: number,
    limit: number,
  ): Promise<AgentEvent[]> {
    const rows = await this.#queries.all<{ event: string }>(READER[part], [
      owner,
      thread,
      [...agents],
      seq,
      offset,
      limit,
      JSON.stringify(Object.fromEntries(agents.map((agent, place) => [agent.toWellFormed(), place]))),
    ]);
    return rows.map(({ event }) => parsed<AgentEvent>(event));
  }

  async event({ owner, thread, uri }: AgentPlace, id: string): Promise<AgentEvent | null> {
    const [row] = await this.#queries.all<{ event: string }>(READER.event, [owner, thread, uri, lookupId(id)]);
    return row === undefined ? null : parsed<AgentEvent>(row.event);
  }

  /** A detail of several agents of a thread, by URI. */
  async details<W extends keyof SharedDetails>(
    { owner, thread }: AgentPlace,
    agents: readonly string[],
    what: W,
  ): Promise<Map<string, SharedDetails[W]>> {
    const rows = await this.#queries.all<{ agent: string; value: string }>(READER.details, [
      owner,
      thread,
      [...agents],
      what,
    ]);
    return new Map(rows.map(({ agent, value }) => [agent, parsed<SharedDetails[W]>(value)]));
  }

  /** The parts of a list of several agents, in order; `seq` is the shipment that changed the part last. */
  async lists<T>(
    { owner, thread }: AgentPlace,
    agents: readonly string[],
    what: "spans" | "calls",
  ): Promise<Map<string, { readonly seq: number; readonly items: readonly T[] }[]>> {
    const rows = await this.#queries.all<{ agent: string; seq: number; items: string }>(READER.lists, [
      owner,
      thread,
      [...agents],
      what,
    ]);
    const parts = rows.map(({ agent, seq, items }) => ({ agent, seq, items: parsed<readonly T[]>(items) }));
    return Map.groupBy(parts, ({ agent }) => agent);
  }

  /**
   * The best matches: short texts first, then the newest. A common word is searched among the owners who were active
   * last, and in their newest months.
   */
  async search(
    owners: readonly string[],
    words: readonly string[],
    limit: number,
  ): Promise<readonly { readonly owner: string; readonly event: AgentEvent }[]> {
    if (searchFor("", words) === null) return [];
    const best = (await this.#found(owners, words, limit))
      .sort((a, b) => a.row.size - b.row.size || (b.row.at?.getTime() ?? 0) - (a.row.at?.getTime() ?? 0))
      .slice(0, limit);
    // Events are large: only those that are shown are read.
    const places = Map.groupBy(best, ({ owner }) => owner);
    const column = <K extends keyof FoundPlace>(owner: string, name: K) =>
      (places.get(owner) ?? []).map(({ row }) => row[name]);
    const events = await eachOwner<FoundPlace & { readonly event: string }>(
      this.#queries,
      [...places.keys()],
      READER.foundEvents,
      (owner) => [column(owner, "thread"), column(owner, "agent"), column(owner, "position")],
    );
    const nameOf = (owner: string, { thread, agent, position }: FoundPlace) =>
      `${owner} ${position} ${thread} ${agent}`;
    const found = new Map(events.map(({ owner, row }) => [nameOf(owner, row), row.event]));
    return best.flatMap(({ owner, row }) => {
      const event = found.get(nameOf(owner, row));
      return event === undefined ? [] : [{ owner, event: parsed<AgentEvent>(event) }];
    });
  }

  /** Where the words are, among the owners who were active last, until enough is found. */
  async #found(
    owners: readonly string[],
    words: readonly string[],
    limit: number,
  ): Promise<{ readonly owner: string; readonly row: FoundText }[]> {
    const left = await this.#queries.all<{ owner: string }>(READER.activity, [[...owners]]);
    const most = Math.min(MAX_LOOKED_AT, Math.max(MIN_LOOKED_AT, Math.ceil(LOOKED_AT / owners.length)));
    const recent = monthOfDay(new Date(Date.now() - RECENT_DAYS * 86_400_000).toISOString());
    const found: { readonly owner: string; readonly row: FoundText }[] = [];
    // A rare word is searched in a few rounds.
    for (let size = ASKED_AT_ONCE; left.length > 0 && found.length < ENOUGH_FOUND; size *= 2) {
      const asked = left.splice(0, size).map(({ owner }) => owner);
      const parametersOf = (owner: string) => [searchFor(owner, words), limit, most, recent];
      found.push(...(await eachOwner<FoundText>(this.#queries, asked, READER.search, parametersOf)));
    }
    return found;
  }

  /** What changed after one shipment of an owner up to another one; null if it is more than `limit` of something. */
  async changes(owner: string, after: number, to: number, limit: number): Promise<OwnerChanges | null> {
    const range = [owner, after, to, limit + 1] as const;
    const [agents, events, spans, cuts] = await Promise.all([
      this.#queries.all<{ thread: string; uri: string; present: boolean; record: string }>(READER.changedAgents, range),
      this.#queries.all<{ thread: string; agent: string; event: string }>(READER.changedEvents, range),
      this.#queries.all<{ thread: string; agent: string }>(READER.changedLists, range),
      this.#queries.all<{ thread: string; agent: string }>(READER.cutLogs, range),
    ]);
    if ([agents, events, spans, cuts].some((rows) => rows.length > limit)) return null;
    const threads = [...new Set([...agents, ...events, ...spans, ...cuts].map(({ thread }) => thread))];
    const parents = await this.#queries.all<{ uri: string; parent: string | null }>(READER.parentsOfThreads, [
      owner,
      threads,
    ]);
    return {
      agents: agents.map(({ thread, uri, present, record }) => ({
        thread,
        uri,
        record: present ? parsed<AgentRecord>(record) : null,
      })),
      events: events.map(({ thread, agent, event }) => ({ thread, agent, event: parsed<AgentEvent>(event) })),
      spans,
      cuts,
      parents: new Map(parents.map(({ uri, parent }) => [uri, parent])),
    };
  }
}

function positionsOf(owners: readonly string[], rows: readonly Position[]): Map<string, number> {
  const found = new Map(rows.map(({ owner, seq }) => [owner, seq]));
  return new Map(owners.map((owner) => [owner, found.get(owner) ?? 0]));
}

const parsed = <T>(text: string) => JSON.parse(text) as T;
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
