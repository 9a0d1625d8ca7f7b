import { CardLog } from "../app/cards/card-log.ts";
import type { Changes } from "../app/ingest/changes.ts";
import type { Library } from "../app/ingest/library.ts";
import { EventLog, type LogSpan, MergedLog } from "../app/query/event-log.ts";
import { type AgentKey, threadOf } from "../core/facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../core/link/forest.ts";
import type { SpansAnswer } from "../core/ports/catalog.ts";
import { hash } from "../core/tools/hash.ts";
import type { AgentRecord, AgentTree } from "../core/views/agent.ts";
import type { AgentEvent } from "../core/views/event.ts";
import { treeOf, withoutChildren, withoutRunningTime } from "../core/views/record.ts";
import type { Board } from "./board.ts";
import { shortened } from "./cut.ts";
import type { Change, Journal } from "./journal.ts";
import { SpanBoard } from "./span-board.ts";
import { isUnfiltered, type Subscription } from "./subscription.ts";

/** A topic that clients follow. It is kept for a while after its last client has disconnected, which may reconnect. */
interface Follow {
  /** Everything since this position is in the journal. */
  readonly since: number;
  clients: number;
  usedAt: number;
}

interface LogFollow extends Follow {
  readonly log: EventLog;
  /** The `stampOf` the agent when its log was last read. */
  stamp: string;
  chain: readonly AgentKey[];
}

/** A log as it was at one position of the journal. */
export interface LogView {
  readonly log: EventLog | MergedLog;
  readonly length: number;
  readonly position: number;
}

/** A record as it was last published. */
interface Published {
  readonly uri: string;
  /** Includes its place in the tree, so that clients that follow the new place are notified when it moves. */
  readonly hash: number;
  readonly isThread: boolean;
  readonly chain: readonly AgentKey[];
}

/** How long a topic without clients is kept. */
const LINGER_MS = 120_000;
const THREADS = "threads";
const EVERYTHING = "everything";
const CARDS = "cards";
type Topic =
  | typeof THREADS
  | typeof EVERYTHING
  | typeof CARDS
  | `tree ${AgentKey}`
  | `log ${AgentKey}`
  | `spans ${AgentKey}`;

/** Converts changed threads into journal entries. Computes only what clients follow. */
export class Hub {
  readonly spans = new SpanBoard();
  /** The last published version of each followed waterfall, by its root. */
  readonly #spansSent = new Map<AgentKey, string>();
  readonly #library: Library;
  readonly #journal: Journal;
  readonly #board: Board;
  readonly #follows = new Map<Topic, Follow>();
  readonly #logs = new Map<AgentKey, LogFollow>();
  readonly #merged = new Map<AgentKey, MergedLog>();
  readonly #cardLogs = new Map<
    string,
    { readonly roots: readonly AgentKey[]; readonly log: CardLog; usedAt: number }
  >();
  readonly #published = new Map<AgentKey, Published>();
  /** When something new was last read about a thread, since the server started. */
  readonly #changedAt = new Map<AgentKey, number>();
  #unsettled: readonly AgentKey[] = [];
  #turn: Promise<void> = Promise.resolve();

  constructor(library: Library, journal: Journal, board: Board) {
    this.#library = library;
    this.#journal = journal;
    this.#board = board;
  }

  get journal(): Journal {
    return this.#journal;
  }

  /** Serialised, so that the journal matches what was read. */
  #inTurn<T>(work: () => T | Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    // The caller gets the error; later work runs anyway.
    this.#turn = result.then(
      () => {},
      () => {},
    );
    return result;
  }

  /** Appends the changes to the journal. Without threads: changes that the passing of time causes. */
  changed({ threads, files }: Changes): Promise<void> {
    for (const thread of threads) this.#changedAt.set(thread, this.#library.now());
    return this.#inTurn(() => this.#write(threads, files));
  }

  async #write(threads: ReadonlySet<AgentKey>, grown: ReadonlyMap<string, number>): Promise<void> {
    this.#dropExpired();
    if (!this.#isFollowed) return;
    const unsettled = this.#library.unsettled();
    const touched = threads.size > 0 ? [...threads] : [...new Set([...unsettled, ...this.#unsettled].map(threadOf))];
    this.#unsettled = unsettled;
    if (touched.length === 0) return;
    const forest = this.#library.forestOf(touched);
    const records = [...this.#removals(forest, new Set(touched)), ...this.#records(forest)];
    // One append, so that each client is woken once.
    this.#journal.append([...records, ...(await this.#events(forest, grown)), ...this.#newSpans(forest)]);
    if (this.#follows.has(CARDS)) this.#journal.append(await this.#board.changes(forest));
    for (const { roots, log } of this.#cardLogs.values())
      if (roots.some((key) => forest.agents.has(key))) await this.#extend(log, roots);
  }

  /** Earlier entries are invalid or incomplete: all clients load everything again. */
  startOver(): Promise<void> {
    return this.#inTurn(() => {
      for (const cache of [this.#published, this.#logs, this.#merged, this.#cardLogs]) cache.clear();
      this.#journal.clear();
    });
  }

  /** A card was created, changed or removed. */
  cardsChanged(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#follows.has(CARDS)) this.#journal.append(await this.#board.changes(null));
    });
  }

  /** Starts publishing cards, and reads them as of the returned position. */
  followCards<T>(read: () => Promise<T>): Promise<{ readonly seen: T; readonly position: number }> {
    return this.#inTurn(async () => {
      await this.#followCards();
      return { seen: await read(), position: this.#journal.position };
    });
  }

  async #followCards() {
    const isNew = !this.#follows.has(CARDS);
    this.#follow(CARDS);
    if (isNew) await this.#board.markPublished();
  }

  /** Drops what no client needs. */
  release(): void {
    this.spans.clear();
    this.#inTurn(() => {
      this.#dropExpired();
      // A client that reconnects gets a reset and loads everything.
      if (!this.#isFollowed) this.#journal.clear();
    }).catch(() => {});
  }

  // --- subscriptions

  get #isFollowed(): boolean {
    return this.#follows.size > 0 || this.#logs.size > 0 || this.#cardLogs.size > 0;
  }

  /** Drops topics without clients, and what was kept for them. */
  #dropExpired() {
    const isOver = ({ clients, usedAt }: Follow) => clients === 0 && Date.now() - usedAt > LINGER_MS;
    for (const [topic, follow] of this.#follows) if (isOver(follow)) this.#follows.delete(topic);
    for (const [key, follow] of this.#logs) if (isOver(follow) && !this.#isLogged(follow.chain)) this.#logs.delete(key);
    for (const key of this.#spansSent.keys()) if (!this.#follows.has(`spans ${key}`)) this.#spansSent.delete(key);
    for (const key of this.#merged.keys()) if (!this.#follows.has(`log ${key}`)) this.#merged.delete(key);
    for (const [name, { usedAt }] of this.#cardLogs) if (Date.now() - usedAt > LINGER_MS) this.#cardLogs.delete(name);
    for (const [key, record] of this.#published) if (!this.#isCovered(record)) this.#published.delete(key);
  }

  #follow(topic: Topic): Follow {
    const follow = this.#follows.get(topic) ?? { since: this.#journal.position, clients: 0, usedAt: 0 };
    this.#follows.set(topic, follow);
    follow.usedAt = Date.now();
    return follow;
  }

  /** Starts publishing the list of threads. */
  followThreads(): void {
    const isNew = !this.#follows.has(THREADS);
    this.#follow(THREADS);
    if (!isNew) return;
    this.#unsettled = this.#library.unsettled();
    this.#markPublished(this.#library.forestOf(this.#unsettled));
  }

  /** The current tree of an agent; starts publishing its changes. */
  tree(key: AgentKey): AgentTree {
    const forest = this.#library.forestOf([key]);
    const isNew = !this.#follows.has(`tree ${key}`);
    this.#follow(`tree ${key}`);
    if (isNew) this.#markPublished(forest);
    return treeOf(forest, key, this.#library.price);
  }

  /** The spans of a subtree, or those that changed; starts publishing changes. */
  spansSince(key: AgentKey, after: string | undefined): SpansAnswer {
    const isNew = !this.#follows.has(`spans ${key}`);
    this.#follow(`spans ${key}`);
    const response = this.spans.spansSince(this.#library.forestOf([key]), key, after);
    if (isNew) this.#spansSent.set(key, response.next);
    return response;
  }

  #newSpans(forest: Forest): Change[] {
    const changes: Change[] = [];
    for (const [key, after] of this.#spansSent) {
      const uri = forest.agents.get(key)?.uri;
      if (uri === undefined) continue;
      const { items, next, whole } = this.spans.spansSince(forest, key, after);
      if (next === after) continue;
      this.#spansSent.set(key, next);
      // Clients that know another version request what they miss.
      const data = whole ? { uri, after: null, next, items: [] } : { uri, after, next, items };
      changes.push({ type: "spans", subject: null, isThread: false, chain: [key], data: JSON.stringify(data) });
    }
    return changes;
  }

  async #log(key: AgentKey, forest: Forest): Promise<LogFollow> {
    const known = this.#logs.get(key);
    if (known !== undefined) {
      known.usedAt = Date.now();
      return known;
    }
    const log = new EventLog(this.#library, key);
    await log.next(forest);
    const stamp = stampOf(agentOf(forest, key));
    const follow = {
      log,
      since: this.#journal.position,
      clients: 0,
      usedAt: Date.now(),
      stamp,
      chain: chainOf(forest, key),
    };
    this.#logs.set(key, follow);
    return follow;
  }

  async #logsBelow(key: AgentKey): Promise<MergedLog> {
    const forest = this.#library.forestOf([key]);
    const logs: EventLog[] = [];
    for (const one of subtreeOf(forest, key)) logs.push((await this.#log(one, forest)).log);
    this.#follow(`log ${key}`);
    const merged = this.#merged.get(key) ?? new MergedLog();
    this.#merged.set(key, merged);
    merged.take(logs);
    return merged;
  }

  /** The events of an agent or of its subtree; starts publishing new ones. */
  log(key: AgentKey, subtree: boolean): Promise<LogView> {
    return this.#inTurn(async () => {
      const log = subtree ? await this.#logsBelow(key) : (await this.#log(key, this.#library.forestOf([key]))).log;
      return { log, length: log.length, position: this.#journal.position };
    });
  }

  /** The log of a card with these threads; published as long as it is requested again. */
  cardLog(card: string, roots: readonly AgentKey[]): Promise<CardLog> {
    return this.#inTurn(async () => {
      const name = JSON.stringify([card, roots]);
      const entry = this.#cardLogs.get(name) ?? { roots, log: new CardLog(), usedAt: 0 };
      this.#cardLogs.set(name, entry);
      entry.usedAt = Date.now();
      await this.#extend(entry.log, roots);
      return entry.log;
    });
  }

  /** The number of events and the time range of each agent in these trees. */
  logSpansIn(roots: readonly AgentKey[]): Promise<ReadonlyMap<AgentKey, LogSpan>> {
    return this.#inTurn(async () => {
      const logs = await this.#logsIn(this.#library.forestOf(roots), roots);
      return new Map(logs.map((log) => [log.key, log.span]));
    });
  }

  /** Adds new entries to the log of a card. */
  async #extend(log: CardLog, roots: readonly AgentKey[]): Promise<void> {
    const forest = this.#library.forestOf(roots);
    const changedAt = Math.max(0, ...[...forest.agents.keys()].map((key) => this.#changedAt.get(threadOf(key)) ?? 0));
    log.take(forest, await this.#logsIn(forest, roots), this.#library.now(), changedAt);
  }

  async #logsIn(forest: Forest, roots: readonly AgentKey[]): Promise<readonly EventLog[]> {
    const logs: EventLog[] = [];
    for (const key of roots.filter((one) => forest.agents.has(one)).flatMap((one) => subtreeOf(forest, one)))
      logs.push((await this.#log(key, forest)).log);
    return logs;
  }

  /** One event in full. */
  event(key: AgentKey, id: string): Promise<AgentEvent | null> {
    return this.#inTurn(async () => (await this.#log(key, this.#library.forestOf([key]))).log.find(id));
  }

  /**
   * Publishes what a client subscribes to until it leaves. Returns the position from which the journal has all of it,
   * and a function to leave.
   */
  join(subscription: Subscription): Promise<{ readonly since: number; readonly leave: () => void }> {
    return this.#inTurn(async () => {
      const all = isUnfiltered(subscription);
      if (subscription.threads || all) this.followThreads();
      if (subscription.cards || all) await this.#followCards();
      for (const key of subscription.trees) this.tree(key);
      for (const key of subscription.logs) await this.#logsBelow(key);
      for (const key of subscription.spans) if (!this.#follows.has(`spans ${key}`)) this.spansSince(key, undefined);
      const logs: Follow[] = [];
      for (const key of subscription.events) logs.push(await this.#log(key, this.#library.forestOf([key])));
      const topics: Topic[] = [
        ...(subscription.threads ? [THREADS as Topic] : []),
        ...(all ? [EVERYTHING as Topic] : []),
        ...(subscription.cards || all ? [CARDS as Topic] : []),
        ...subscription.trees.map((key) => `tree ${key}` as const),
        ...subscription.logs.map((key) => `log ${key}` as const),
        ...subscription.spans.map((key) => `spans ${key}` as const),
      ];
      const follows = [...topics.map((topic) => this.#follow(topic)), ...logs];
      for (const follow of follows) follow.clients += 1;
      const leave = () => {
        for (const follow of follows) {
          follow.clients -= 1;
          follow.usedAt = Date.now();
        }
      };
      return { since: Math.max(0, ...follows.map(({ since }) => since)), leave };
    });
  }

  #isLogged = (chain: readonly AgentKey[]) =>
    this.#follows.has(EVERYTHING) || chain.some((key) => this.#follows.has(`log ${key}`));
  #isCovered = ({ isThread, chain }: Pick<Published, "isThread" | "chain">) =>
    this.#follows.has(EVERYTHING) ||
    (isThread && this.#follows.has(THREADS)) ||
    chain.some((key) => this.#follows.has(`tree ${key}`));

  // --- records

  /** Marks the current records as published, because the client gets them in the response. */
  #markPublished(forest: Forest) {
    for (const { key, current } of this.#current(forest))
      if (!this.#published.has(key)) this.#published.set(key, current);
  }

  /** The records of the forest that clients follow. */
  *#current(
    forest: Forest,
  ): Generator<{ readonly key: AgentKey; readonly current: Published; readonly record: AgentRecord }> {
    for (const root of forest.roots) {
      const keys = subtreeOf(forest, root);
      if (!keys.some((key) => this.#isCovered({ isThread: key === root, chain: [key] }))) continue;
      const records = recordsIn(treeOf(forest, root, this.#library.price));
      /** A hash of all agents above, because the path itself is as long as the tree is deep. */
      const places = new Map<AgentKey | null, number>();
      for (const key of keys) {
        const { uri, parent } = agentOf(forest, key);
        places.set(key, hash(`${places.get(parent) ?? ""} ${key}`));
        const record = records.get(uri);
        const of = { isThread: key === root, chain: chainOf(forest, key) };
        if (record === undefined || !this.#isCovered(of)) continue;
        yield {
          key,
          record,
          current: {
            ...of,
            uri: record.uri,
            hash: hash(JSON.stringify([withoutRunningTime(record), places.get(key)])),
          },
        };
      }
    }
  }

  #records(forest: Forest): Change[] {
    const changes: Change[] = [];
    for (const { key, current, record } of this.#current(forest)) {
      const before = this.#published.get(key);
      this.#published.set(key, current);
      if (before !== undefined && before.hash === current.hash && before.uri === current.uri) continue;
      changes.push({
        type: "agent",
        subject: `agent ${key}`,
        isThread: current.isThread,
        chain: current.chain,
        data: JSON.stringify(record),
      });
    }
    return changes;
  }

  /** Agents that were removed, renamed or moved: clients that follow their old place remove them. */
  #removals(forest: Forest, touched: ReadonlySet<AgentKey>): Change[] {
    const changes: Change[] = [];
    const threads = new Set([...touched, ...[...forest.agents.keys()].map(threadOf)]);
    for (const [key, { uri, chain, isThread }] of this.#published) {
      if (!threads.has(threadOf(key))) continue;
      const agent = forest.agents.get(key);
      const isSame = agent?.uri === uri;
      const now = isSame ? chainOf(forest, key) : [];
      const left = chain.filter((one) => !now.includes(one));
      if (agent === undefined) this.#published.delete(key);
      if (left.length === 0) continue;
      changes.push({
        type: "removed",
        subject: `removed ${uri}`,
        isThread: isThread && !isSame,
        chain: left,
        data: JSON.stringify({ uri }),
      });
    }
    return changes;
  }

  // --- events

  async #events(forest: Forest, grown: ReadonlyMap<string, number>): Promise<Change[]> {
    const changes: Change[] = [];
    for (const [key, agent] of forest.agents) {
      const known = this.#logs.get(key);
      const chain = chainOf(forest, key);
      if (known === undefined && !this.#isLogged(chain)) continue;
      const stamp = stampOf(agent);
      if (known?.stamp === stamp) continue;
      const follow: LogFollow = known ?? {
        log: new EventLog(this.#library, key),
        since: this.#journal.position,
        clients: 0,
        usedAt: Date.now(),
        stamp,
        chain,
      };
      this.#logs.set(key, Object.assign(follow, { stamp, chain }));
      const events = await follow.log.next(forest);
      const base = { subject: null, isThread: agent.parent === null, chain };
      if (events === null) {
        this.#logs.delete(key);
        // Logs of cards refer to the log that was dropped.
        this.#cardLogs.clear();
        changes.push({
          ...base,
          type: "reset",
          data: JSON.stringify({ reason: `a file of ${agent.uri} was replaced` }),
        });
        continue;
      }
      // If the agent appeared while its tree was followed, all events are new; otherwise those in the new lines.
      const isNew =
        known !== undefined || chain.some((one) => this.#follows.has(`log ${one}`)) ? () => true : isInNewLines(grown);
      for (const event of events.filter(isNew))
        changes.push({ ...base, type: "event", data: JSON.stringify(shortened(event)) });
    }
    return changes;
  }
}

const isInNewLines =
  (grown: ReadonlyMap<string, number>) =>
  ({ ref }: AgentEvent) =>
    ref !== null && "line" in ref && ref.line > (grown.get(ref.path) ?? Number.POSITIVE_INFINITY);

/** Changes whenever the agent may have new events. */
function stampOf({ verdict, children, files, messages, toolCalls, lastAt, uri }: LinkedAgent): string {
  return [verdict.status, children.length, messages, toolCalls, lastAt, uri, ...files.map(({ bytes }) => bytes)].join(
    " ",
  );
}

/** The agent, its parent, and so on up to the root. */
function chainOf(forest: Forest, key: AgentKey): AgentKey[] {
  const chain = [key];
  for (let at = forest.agents.get(key)?.parent ?? null; at !== null; at = forest.agents.get(at)?.parent ?? null)
    chain.push(at);
  return chain;
}

function recordsIn(tree: AgentTree): ReadonlyMap<string, AgentRecord> {
  const records = new Map<string, AgentRecord>();
  const left = [tree];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    records.set(one.uri, withoutChildren(one));
    left.push(...one.children);
  }
  return records;
}
