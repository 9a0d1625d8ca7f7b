import { Failure } from "../../app/failure.ts";
import { contextWindow } from "../../app/query/prices.ts";
import type { AgentPlace, Reader, ThreadPosition } from "../../app/team/store.ts";
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
  Owned,
  SearchAnswer,
  SpansAnswer,
  StatsAnswer,
  StatsQuery,
  ThreadsPage,
  ThreadsQuery,
} from "../../core/ports/catalog.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import { excerpt, searchedText } from "../../core/views/found-text.ts";
import { sortedMessages } from "../../core/views/messages.ts";
import {
  type SharedCall,
  type SharedParts,
  sharedExplanation,
  sharedFiles,
  sharedTree,
  withDuration,
} from "../../core/views/shared-tree.ts";
import type { Span } from "../../core/views/span.ts";
import type { StatsLine } from "../../core/views/stats.ts";
import { byWeight, threadsBehind } from "../../core/views/stats-sums.ts";
import { followChanges, isUnfiltered } from "./changes.ts";
import type { Feed } from "./feed.ts";
import { formatPosition } from "./position.ts";
import { noThread, resolveAgent } from "./resolve.ts";
import { spansSince } from "./spans.ts";
import { Turns } from "./turns.ts";
import { noteOwners, type Seen } from "./visits.ts";

/** Streams end when their viewer may no longer see the same. */
export interface Recheck {
  readonly everyMs: number;
  readonly isAllowed: () => Promise<boolean>;
}

/**
 * Runs until the signal is aborted or the viewer is no longer allowed. Changes are notified; what is not, such as the
 * end of a token's time, is checked for from time to time. If the work fails, nothing is checked any more.
 */
async function whileAllowed<T>(
  until: AbortSignal,
  feed: Feed,
  { everyMs, isAllowed }: Recheck,
  work: (until: AbortSignal) => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const signal = AbortSignal.any([until, ended.signal]);
  const check = async () => {
    // While the database is away, streams wait for it.
    if (!(await isAllowed().catch(() => true))) ended.abort();
  };
  // The client may be gone, or the server may be stopping: then the signal is not aborted once more.
  if (!signal.aborted) {
    const timer = setInterval(check, everyMs);
    signal.addEventListener("abort", () => clearInterval(timer), { once: true });
    feed.onAccess(check, signal);
  }
  try {
    return await work(signal);
  } catch (error) {
    ended.abort();
    throw error;
  }
}

/** Findings and files need all events of a tree in memory, which may be hundreds of megabytes: two trees at once. */
const WHOLE_TREES = new Turns({ atOnce: 2, maxWaiting: 1_000 });

/** Whose requests a catalog answers. */
export interface Client {
  /** The id of the token. */
  readonly id: string;
  readonly recheck: Recheck | null;
  /** Is told what the responses show. */
  readonly seen: (seen: Seen) => void;
}

const UNKNOWN_CLIENT: Client = { id: "", recheck: null, seen: () => {} };

/** What the owners of a team have shipped, for a viewer who may see these owners. */
export class TeamCatalog implements Catalog {
  readonly #reader: Reader;
  readonly #feed: Feed;
  readonly #owners: readonly string[];
  readonly #client: Client;

  constructor(reader: Reader, feed: Feed, owners: readonly string[], client: Client = UNKNOWN_CLIENT) {
    this.#reader = reader;
    this.#feed = feed;
    this.#owners = owners;
    this.#client = client;
  }

  async #live(): Promise<string> {
    return formatPosition(await this.#feed.heads(this.#owners));
  }

  async #place(uri: string): Promise<AgentPlace> {
    const place = await resolveAgent(this.#reader, this.#owners, uri);
    this.#client.seen(place);
    return place;
  }

  async threads({ limit, cursor, ...filter }: ThreadsQuery): Promise<ThreadsPage> {
    const live = await this.#live();
    const after = cursor === undefined ? null : positionIn(cursor);
    const rows = await this.#reader.threads(this.#owners, { ...filter, limit: limit + 1 }, after);
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    const now = Date.now();
    noteOwners(shown, this.#client.seen);
    return {
      items: shown.map(({ record, owner }) => ({ ...withDuration(record, now), owner })),
      next: rows.length > limit && last !== undefined ? cursorOf(last) : null,
      live,
    };
  }

  async tree(uri: string): Promise<Live & { readonly tree: Owned<AgentTree> }> {
    const live = await this.#live();
    const place = await this.#place(uri);
    return { tree: await this.#treeAt(place), live };
  }

  async #treeAt(place: AgentPlace): Promise<Owned<AgentTree>> {
    const { owner } = place;
    const agents = (await this.#reader.agents(place)).values();
    const owned = agents.map(({ record, ...rest }) => ({ ...rest, record: { ...record, owner } }));
    const tree = sharedTree(owned, place.uri, Date.now());
    // It was removed in the meantime.
    if (tree === null) throw noThread(place.uri);
    return tree;
  }

  async events(uri: string, query: EventsQuery): Promise<EventsPage | null> {
    const page = await this.#eventsPage(uri, query);
    if (page !== null || query.after === undefined) return page;
    // The cursor may be from a server that has seen more.
    await this.#feed.newestHeads(this.#owners);
    return this.#eventsPage(uri, query);
  }

  async #eventsPage(uri: string, query: EventsQuery): Promise<EventsPage | null> {
    const place = await this.#place(uri);
    const seqs = await this.#feed.heads(this.#owners);
    const live = formatPosition(seqs);
    if (query.subtree) return this.#mergedEvents(place, query, seqs.get(place.owner) ?? 0, live);
    const { length: total, cut } = await this.#reader.log(place);
    const first = startOf(query, `${cut}`, total);
    if (first === null) return null;
    const rows = await this.#reader.events(place, first, query.limit);
    const end = (rows.at(-1)?.position ?? first - 1) + 1;
    return {
      items: rows.map(({ event }) => event),
      next: `${cut}-${rows.length === 0 ? Math.max(first, total) : end}`,
      first: rows[0]?.position ?? first,
      total: Math.max(total, end),
      live,
    };
  }

  /**
   * The history up to the shipment that the first page saw, by time, then what arrived later. So pages of one client
   * continue each other, whatever arrives in between.
   */
  async #mergedEvents(place: AgentPlace, query: EventsQuery, head: number, live: string): Promise<EventsPage | null> {
    const agents = urisIn(await this.#treeAt(place));
    const [, base = ""] = /^m(\d{1,15})-/.exec(query.after ?? "") ?? [];
    const seq = base === "" ? head : Number(base);
    const cut = await this.#reader.lastCut(place, agents);
    const { before, total } = await this.#reader.countEvents(place, agents, seq);
    const first = cut > seq || seq > head ? null : startOf(query, `m${seq}`, total);
    if (first === null) return null;
    const history = first < before ? await this.#reader.merged(place, agents, seq, "history", first, query.limit) : [];
    const left = query.limit - history.length;
    const arrivals =
      left > 0 ? await this.#reader.merged(place, agents, seq, "arrivals", Math.max(0, first - before), left) : [];
    const items = [...history, ...arrivals];
    return {
      items,
      next: `m${seq}-${first + items.length}`,
      first,
      total: Math.max(total, first + items.length),
      live,
    };
  }

  async event(uri: string, id: string): Promise<AgentEvent | null> {
    return this.#reader.event(await this.#place(uri), id);
  }

  async detail<W extends DetailKind>(uri: string, what: W): Promise<Details[W]> {
    const place = await this.#place(uri);
    const views: { readonly [K in DetailKind]: () => Promise<Details[K]> } = {
      why: async () => {
        const why = (await this.#reader.details(place, [place.uri], "why")).get(place.uri);
        if (why === undefined)
          throw new Failure("not_found", `the evidence for ${place.uri} has not arrived yet`, [
            "try again in a moment",
          ]);
        return why;
      },
      messages: async () => {
        const agents = urisIn(await this.#treeAt(place));
        return sortedMessages((await this.#reader.details(place, agents, "messages")).values());
      },
      explain: () =>
        WHOLE_TREES.take(this.#client.id, async () => {
          const tree = await this.#treeAt(place);
          const around = { now: Date.now(), windowOf: contextWindow };
          return sharedExplanation(tree, await this.#parts(place, tree), around);
        }),
      files: () =>
        WHOLE_TREES.take(this.#client.id, async () => {
          const tree = await this.#treeAt(place);
          return sharedFiles(tree, await this.#parts(place, tree));
        }),
    };
    return views[what]();
  }

  /** Everything about the agents of a tree. */
  async #parts(place: AgentPlace, tree: AgentTree): Promise<(uri: string) => SharedParts | undefined> {
    const agents = urisIn(tree);
    const [events, calls, spans, reports, why] = await Promise.all([
      Promise.all(
        agents.map(
          async (uri) => [uri, await this.#reader.events({ ...place, uri }, 0, Number.MAX_SAFE_INTEGER)] as const,
        ),
      ),
      this.#reader.lists<SharedCall>(place, agents, "calls"),
      this.#reader.lists<Span>(place, agents, "spans"),
      this.#reader.details(place, agents, "reports"),
      this.#reader.details(place, agents, "why"),
    ]);
    const parts = new Map(
      events.map(([uri, rows]) => [
        uri,
        {
          events: rows.map(({ event }) => event),
          calls: (calls.get(uri) ?? []).flatMap(({ items }) => items),
          spans: (spans.get(uri) ?? []).flatMap(({ items }) => items),
          reports: reports.get(uri) ?? [],
          why: why.get(uri) ?? null,
        },
      ]),
    );
    return (uri) => parts.get(uri);
  }

  async spans(uri: string, after: string | null): Promise<Live & SpansAnswer> {
    const live = await this.#live();
    const place = await this.#place(uri);
    const [, digits] = /^s(\d{1,15})$/.exec(after ?? "") ?? [];
    const known = digits === undefined ? null : Number(digits);
    return { ...(await spansSince(this.#reader, place, urisIn(await this.#treeAt(place)), known)), live };
  }

  async search(words: readonly string[], limit: number): Promise<SearchAnswer> {
    const found = await this.#reader.search(this.#owners, words, limit);
    const items = found.flatMap(({ owner, event }) => {
      const { uri, kind, at, ref } = event;
      return ref === null ? [] : [{ owner, uri, kind, at, ref, ...excerpt(searchedText(event), words) }];
    });
    return { incomplete: null, items: items.slice(0, limit) };
  }

  async stats({ since, by, behind }: StatsQuery): Promise<Live & StatsAnswer> {
    const live = await this.#live();
    const from = since === null ? null : new Date(since).toISOString().slice(0, 10);
    const { usage } = this.#reader;
    const sums = await usage.stats(this.#owners, from, by);
    // Several people may have the same thread.
    const found: { readonly owner: string; readonly line: StatsLine }[] = [];
    if (behind !== null)
      for await (const { owner, rows } of usage.rows(this.#owners, from))
        for (const line of threadsBehind(rows, behind.by, behind.key)) found.push({ owner, line });
    const shown = found.sort((a, b) => byWeight(a.line, b.line)).slice(0, behind?.limit ?? 0);
    const uris = shown.flatMap(({ line }) => (line.key === null ? [] : [line.key]));
    const owners = noteOwners(shown, this.#client.seen);
    // Templates are beginnings of prompts.
    if (by.includes("template")) this.#client.seen(null);
    const now = Date.now();
    const records = new Map(
      (await this.#reader.threadRecords(owners, uris)).map((record) => [
        `${record.owner} ${record.uri}`,
        withDuration(record, now),
      ]),
    );
    return {
      incomplete: null,
      approximate: sums.isApproximate,
      total: sums.total(),
      by: Object.fromEntries(by.map((group) => [group, sums.by(group)])),
      threads: shown.map(({ owner, line }) => ({ ...line, record: records.get(`${owner} ${line.key}`) ?? null })),
      live,
    };
  }

  async health(): Promise<CatalogHealth> {
    const [live, trouble] = await Promise.all([this.#live(), this.#feed.trouble()]);
    return { reading: null, watching: this.#feed.isListening, troubles: trouble === null ? [] : [trouble], live };
  }

  async changes(follow: Follow, after: string | null, until: AbortSignal): Promise<ChangeStream> {
    const places = async (uris: readonly string[]) => Promise.all(uris.map((uri) => this.#place(uri)));
    const sources = { reader: this.#reader, feed: this.#feed, owners: this.#owners };
    const followed = {
      threads: follow.threads,
      trees: await places(follow.trees),
      events: await places(follow.events),
      logs: await places(follow.logs),
      spans: await places(follow.spans),
    };
    if (isUnfiltered(followed)) this.#client.seen(null);
    const start = (signal: AbortSignal) => followChanges(sources, followed, after, signal);
    const { recheck } = this.#client;
    return recheck === null ? start(until) : whileAllowed(until, this.#feed, recheck, start);
  }
}

/** The agents of a tree, in the order of `subtreeOf`. */
function urisIn(tree: AgentTree): string[] {
  const agents = [tree];
  // Grows during the loop; avoids recursion.
  for (const one of agents) for (const child of one.children) agents.push(child);
  return agents.map(({ uri }) => uri);
}

/** Where a page begins; null if the cursor is of another log. */
function startOf({ after, from = 0 }: EventsQuery, serial: string, total: number): number | null {
  if (after === undefined) return Math.min(total, from < 0 ? Math.max(0, total + from) : from);
  const at = after.lastIndexOf("-");
  const digits = after.slice(at + 1);
  return after.slice(0, at) === serial && /^\d{1,9}$/.test(digits) && Number(digits) <= total ? Number(digits) : null;
}

const cursorOf = ({ activeAt, thread, owner }: ThreadPosition) =>
  Buffer.from(JSON.stringify([activeAt, thread, owner])).toString("base64url");

function positionIn(cursor: string): ThreadPosition {
  try {
    const parts = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown;
    if (Array.isArray(parts) && parts.length === 3 && parts.every((part) => typeof part === "string")) {
      const [activeAt = "", thread = "", owner = ""] = parts as string[];
      const ms = Date.parse(activeAt);
      const isWritten = ms >= 0 && new Date(ms).toISOString() === activeAt && /^\d{4}-/.test(activeAt);
      if (isWritten && !thread.includes("\0")) return { activeAt, thread, owner };
    }
  } catch {
    // Not JSON, so not a valid cursor.
  }
  throw new Failure("usage", "invalid cursor", ["use `next` of the previous page"]);
}
