import { explainAgent, filesOfAgent } from "../app/explain/explain.ts";
import type { Library, ThreadPlace } from "../app/ingest/library.ts";
import { resolve } from "../app/query/resolve.ts";
import { search, unsearched } from "../app/query/search.ts";
import { explain } from "../app/query/why.ts";
import type { AgentKey } from "../core/facts/ids.ts";
import { agentOf, type Forest } from "../core/link/forest.ts";
import type {
  Catalog,
  CatalogHealth,
  ChangeStream,
  DetailKind,
  Details,
  EventsPage,
  EventsQuery,
  Follow,
  Live,
  LiveMessage,
  SearchAnswer,
  SpansAnswer,
  StatsAnswer,
  StatsQuery,
  ThreadsPage,
  ThreadsQuery,
} from "../core/ports/catalog.ts";
import type { AgentRecord, AgentTree } from "../core/views/agent.ts";
import type { AgentEvent } from "../core/views/event.ts";
import { messagesIn } from "../core/views/messages.ts";
import { statsBy, statsTotal, threadsBehind } from "../core/views/stats-sums.ts";
import { reportedReading, reportedTroubles, reportedUnsearched, type ServerState } from "./context.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import type { Hub } from "./hub.ts";
import { concerns, type Subscription } from "./subscription.ts";

/** The catalog of this machine, over its index. */
export class LocalCatalog implements Catalog {
  readonly #library: Library;
  readonly #hub: Hub;
  readonly #state: Pick<ServerState, "watching" | "troubles">;

  constructor(library: Library, hub: Hub, state: Pick<ServerState, "watching" | "troubles">) {
    this.#library = library;
    this.#hub = hub;
    this.#state = state;
  }

  #key(uri: string): AgentKey {
    return resolve(this.#library, uri).key;
  }

  get #live(): string {
    const { journal } = this.#hub;
    return journal.idOf(journal.position);
  }

  async threads({ limit, cursor, ...filter }: ThreadsQuery): Promise<ThreadsPage> {
    this.#hub.followThreads();
    const live = this.#live;
    const after = cursor === undefined ? {} : { after: placeIn(cursor) };
    const rows = [...this.#library.threadRows({ ...filter, ...after, limit: limit + 1 })];
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: shown.map(({ record }) => record),
      next: rows.length > limit && last !== undefined ? cursorOf(last.place) : null,
      live,
    };
  }

  async tree(uri: string): Promise<Live & { readonly tree: AgentTree }> {
    const key = this.#key(uri);
    const live = this.#live;
    return { tree: this.#hub.tree(key), live };
  }

  async events(uri: string, { after, from, limit, subtree }: EventsQuery): Promise<EventsPage | null> {
    const { log, length, position } = await this.#hub.log(this.#key(uri), subtree);
    const first = after === undefined ? clamp(from ?? 0, length) : positionIn(after, log.serial, length);
    if (first === null) return null;
    const items = await log.page(first, Math.min(limit, length - first));
    const live = this.#hub.journal.idOf(position);
    return { items, next: `${log.serial}-${first + items.length}`, first, total: length, live };
  }

  async event(uri: string, id: string): Promise<AgentEvent | null> {
    return this.#hub.event(this.#key(uri), id);
  }

  async detail<W extends DetailKind>(uri: string, what: W): Promise<Details[W]> {
    const key = this.#key(uri);
    const forest = this.#library.forestOf([key]);
    const views: { readonly [K in DetailKind]: (forest: Forest) => Details[K] | Promise<Details[K]> } = {
      why: () => explain(forest, agentOf(forest, key)),
      messages: () => messagesIn(forest, key),
      explain: () => explainAgent(this.#library, forest, key),
      files: () => filesOfAgent(this.#library, forest, key),
    };
    return views[what](forest);
  }

  async spans(uri: string, after: string | null): Promise<Live & SpansAnswer> {
    const spans = this.#hub.spansSince(this.#key(uri), after ?? undefined);
    return { ...spans, live: this.#live };
  }

  async search(words: readonly string[], limit: number): Promise<SearchAnswer> {
    // The rest is indexed while the server is idle.
    await this.#library.indexTexts();
    const items = await search(this.#library, words, limit, 0);
    return { incomplete: reportedUnsearched(unsearched(this.#library)), items };
  }

  async stats({ since, by, behind }: StatsQuery): Promise<Live & StatsAnswer> {
    this.#hub.followThreads();
    const live = this.#live;
    const from = since === null ? null : new Date(since).toISOString().slice(0, 10);
    const rows = [...this.#library.store.spent(this.#library.under, from)];
    const lines = behind === null ? [] : threadsBehind(rows, behind.by, behind.key).slice(0, behind.limit);
    const records = this.#rootsNamed(new Set(lines.map((line) => line.key)));
    return {
      incomplete: reportedReading(this.#library.reading),
      approximate: false,
      total: statsTotal(rows),
      by: Object.fromEntries(by.map((group) => [group, statsBy(rows, group)])),
      threads: lines.map((line) => ({ ...line, record: records.get(line.key ?? "") ?? null })),
      live,
    };
  }

  /** Thread records by URI. The library lists newest first, and the search stops when all are found. */
  #rootsNamed(uris: ReadonlySet<string | null>): ReadonlyMap<string, AgentRecord> {
    const found = new Map<string, AgentRecord>();
    if (uris.size === 0) return found;
    for (const record of this.#library.threads({})) {
      if (uris.has(record.uri)) found.set(record.uri, record);
      if (found.size === uris.size) break;
    }
    return found;
  }

  async health(): Promise<CatalogHealth> {
    return {
      reading: reportedReading(this.#library.reading),
      watching: this.#state.watching,
      troubles: reportedTroubles(this.#state.troubles.list),
      live: this.#live,
    };
  }

  async changes(follow: Follow, after: string | null, until: AbortSignal): Promise<ChangeStream> {
    const keys = (uris: readonly string[]) => uris.map((uri) => this.#key(uri));
    const { trees, events, logs, spans } = follow;
    const subscription: Subscription = {
      ...follow,
      trees: keys(trees),
      events: keys(events),
      logs: keys(logs),
      spans: keys(spans),
    };
    const { since, leave } = await this.#hub.join(subscription);
    if (until.aborted) leave();
    else until.addEventListener("abort", leave, { once: true });
    const { journal } = this.#hub;
    const known = after === null ? journal.position : journal.positionOf(after);
    let position = known === null || known < Math.max(since, journal.floor) ? null : known;
    const reset = (reason: string): LiveMessage => {
      position = journal.position;
      return { type: "reset", id: journal.idOf(position), data: JSON.stringify({ reason }) };
    };
    return {
      first:
        position === null
          ? reset("changes since then are no longer available")
          : { type: "ready", id: journal.idOf(position), data: "{}" },
      next: async () => {
        for (;;) {
          await journal.after(position ?? 0, until);
          if (until.aborted) return [];
          if ((position ?? 0) < journal.floor) return [reset("too many changes in the meantime")];
          const found: LiveMessage[] = [];
          for (const entry of journal.since(position ?? 0)) {
            position = entry.seq;
            if (concerns(subscription, entry))
              found.push({ type: entry.type, id: journal.idOf(entry.seq), data: entry.data });
          }
          if (found.length > 0) return found;
        }
      },
    };
  }
}

/** A negative position counts from the end. */
const clamp = (from: number, length: number) => Math.min(length, from < 0 ? Math.max(0, length + from) : from);

/** Null if the cursor is of another log, or beyond its end. */
function positionIn(cursor: string, serial: string, length: number): number | null {
  const [of, digits = ""] = cursor.split("-");
  return of === serial && /^\d{1,9}$/.test(digits) && Number(digits) <= length ? Number(digits) : null;
}

const cursorOf = ({ lastActivity, key }: ThreadPlace) => encodeCursor([lastActivity, key]);

function placeIn(cursor: string): ThreadPlace {
  const [lastActivity, key] = decodeCursor(cursor);
  return { lastActivity, key: key as AgentKey };
}
