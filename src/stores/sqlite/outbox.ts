import type { DatabaseSync } from "node:sqlite";
import type { DestinationState, Outbox, OutboxItem, Parcel, Posted } from "../../core/ports/outbox.ts";
import { type Statements, statementsOf } from "./outbox-statements.ts";
import { inTransaction } from "./transaction.ts";

/**
 * Items to be sent. An item is stored before it is sent, and deleted when the destination has confirmed it.
 */
export const OUTBOX_TABLES = `
  CREATE TABLE destination (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    since INTEGER,
    looked_to INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    delivered INTEGER NOT NULL DEFAULT 0,
    delivered_at INTEGER,
    turned_down TEXT,
    holder TEXT,
    held_until INTEGER NOT NULL DEFAULT 0,
    asked_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, name)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    destination TEXT NOT NULL,
    batch TEXT NOT NULL,
    key TEXT NOT NULL,
    what TEXT NOT NULL,
    body BLOB NOT NULL,
    at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    refused TEXT
  ) STRICT;
  CREATE INDEX outbox_waiting ON outbox (owner, destination, id) WHERE refused IS NULL;
  CREATE INDEX outbox_batch ON outbox (owner, destination, batch, id) WHERE refused IS NULL;
  CREATE TABLE exported (
    owner TEXT NOT NULL,
    destination TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (owner, destination, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE unfinished_export (
    owner TEXT NOT NULL,
    destination TEXT NOT NULL,
    thread TEXT NOT NULL,
    PRIMARY KEY (owner, destination, thread)
  ) STRICT, WITHOUT ROWID`;

/**
 * Everything that was ever put into the outbox, with its place at the destination. A row is written once; later it can
 * only be ended, once and at the same place. Replaces `exported`, which had neither.
 */
export const POSTED_TABLE = `
  DROP TABLE exported;
  CREATE TABLE posted (
    owner TEXT NOT NULL,
    destination TEXT NOT NULL,
    key TEXT NOT NULL,
    thread TEXT NOT NULL,
    place TEXT NOT NULL,
    is_open INTEGER NOT NULL,
    PRIMARY KEY (owner, destination, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX posted_open ON posted (owner, destination, thread) WHERE is_open = 1`;

export function outboxIn(db: DatabaseSync, owner: string): Outbox {
  let prepared: Statements | undefined;
  const context: OutboxContext = {
    owner,
    // Prepared on first use, because most processes that open the file do not use the outbox.
    sql: () => {
      prepared ??= statementsOf(db);
      return prepared;
    },
    atomically: (work) => inTransaction(db, work),
  };
  return { ...itemsOf(context), ...destinationsOf(context), ...threadsOf(context) };
}

interface OutboxContext {
  readonly owner: string;
  readonly sql: () => Statements;
  readonly atomically: <T>(work: () => T) => T;
}

/** Open threads, whose items are not complete yet. */
function threadsOf({ owner, sql, atomically }: OutboxContext) {
  return {
    stillOpen: (destination, thread) =>
      sql()
        .stillOpen.all(owner, destination, thread)
        .flatMap((row) => postedOf(row) ?? []),
    unfinished: (destination) =>
      sql()
        .unfinished.all(owner, destination)
        .map((row) => String(row.thread)),
    moved: (destination, from, to) =>
      atomically(() => {
        sql().movePosted.run(to, owner, destination, from);
        if (sql().removeUnfinished.run(owner, destination, from).changes > 0)
          sql().addUnfinished.run(owner, destination, to);
      }),
    setUnfinished: (destination, thread, isUnfinished) =>
      void (isUnfinished ? sql().addUnfinished : sql().removeUnfinished).run(owner, destination, thread),
  } satisfies Partial<Outbox>;
}

/** The state of destinations, and which process sends to them. */
function destinationsOf({ owner, sql, atomically }: OutboxContext) {
  return {
    open: (destination, since) =>
      atomically(() => {
        sql().open.run(owner, destination);
        if (since !== null) sql().since.run(since, owner, destination);
      }),
    destinations: () => sql().destinations.all(owner, owner).map(stateOf),
    hold: (destination, holder, now, until, isAlive) =>
      atomically(() => {
        const held = sql().held.get(owner, destination);
        const other = held?.holder == null || held.holder === holder ? null : String(held.holder);
        if (other !== null && Number(held?.held_until) > now && isAlive(other)) return false;
        sql().hold.run(holder, until, owner, destination);
        return true;
      }),
    ask: (destination, at) => void sql().ask.run(at, owner, destination),
    release: (destination, holder, since) =>
      atomically(
        () =>
          sql().release.run(owner, destination, holder, since).changes > 0 ||
          sql().held.get(owner, destination)?.holder !== holder,
      ),
    setLookedTo: (destination, at) => void sql().lookedTo.run(at, owner, destination),
  } satisfies Partial<Outbox>;
}

/** The items, from `put` until they have arrived or are dropped. */
function itemsOf({ owner, sql, atomically }: OutboxContext) {
  return {
    put: (destination, thread, choose, at) =>
      atomically(() => {
        const find = (key: string) => postedOf(sql().posted.get(owner, destination, key));
        const parcels = choose(find);
        const isAccepted = ({ key, place, isEnd }: Parcel) =>
          find(key) === undefined
            ? sql().post.run(owner, destination, key, thread, place, isEnd ? 0 : 1).changes > 0
            : isEnd && sql().end.run(owner, destination, key, place).changes > 0;
        const accepted = new Set(parcels.filter(isAccepted));
        for (const { batch, key, isEnd, what, body } of accepted)
          sql().put.run(owner, destination, batch, `${key}:${isEnd ? "closed" : "open"}`, what, body, at);
        return { put: accepted.size, refused: parcels.filter((one) => !accepted.has(one)).map(({ key }) => key) };
      }),
    next: (destination, limit) =>
      cutBatch(sql().next.all(owner, destination, owner, destination, limit.items).map(itemOf), limit.bytes),
    items: (destination, limit) => sql().items.all(owner, destination, limit).map(itemOf),
    arrived: (destination, ids, at, turnedDown, more = 0) =>
      atomically(() => {
        for (const id of ids) sql().remove.run(id);
        sql().arrived.run(ids.length + more, at, turnedDown, owner, destination);
      }),
    refuse: (id, reason) => void sql().refuse.run(reason, id),
    postpone: (destination, ids, nextAt, reason) =>
      atomically(() => {
        for (const id of ids) sql().attempt.run(id);
        sql().postpone.run(nextAt, reason, owner, destination);
      }),
    retry: (destination) =>
      atomically(() => {
        sql().hurry.run(owner, destination);
        return Number(sql().retry.run(owner, destination).changes);
      }),
    drop: (destination) => Number(sql().drop.run(owner, destination).changes),
    bytes: () => Number(sql().bytes.get(owner)?.bytes ?? 0),
  } satisfies Partial<Outbox>;
}

/**
 * As many items as fit, at least one. An end is not sent in the same batch as its beginning.
 */
function cutBatch(items: readonly OutboxItem[], maxBytes: number): readonly OutboxItem[] {
  const [first] = items;
  const seen = new Set<string>();
  let bytes = 0;
  const end = items.findIndex((item) => {
    const name = item.key.slice(0, item.key.lastIndexOf(":"));
    bytes += item.body.length;
    const isTooMuch = item !== first && (bytes > maxBytes || seen.has(name));
    seen.add(name);
    return isTooMuch;
  });
  return end < 0 ? items : items.slice(0, end);
}

type Row = Readonly<Record<string, unknown>>;

const textOrNull = (value: unknown) => (value === null || value === undefined ? null : String(value));

const postedOf = (row: Row | undefined): Posted | undefined =>
  row === undefined ? undefined : { key: String(row.key), place: String(row.place), isOpen: row.is_open === 1 };

const itemOf = (row: Row): OutboxItem => ({
  id: Number(row.id),
  key: String(row.key),
  batch: String(row.batch),
  what: String(row.what),
  body: row.body as Uint8Array,
  at: Number(row.at),
  attempts: Number(row.attempts),
  refused: textOrNull(row.refused),
});

const stateOf = (row: Row): DestinationState => ({
  name: String(row.name),
  since: row.since === null ? null : Number(row.since),
  lookedTo: Number(row.looked_to),
  nextAt: Number(row.next_at),
  failures: Number(row.failures),
  reason: textOrNull(row.reason),
  delivered: Number(row.delivered),
  deliveredAt: row.delivered_at === null ? null : Number(row.delivered_at),
  turnedDown: textOrNull(row.turned_down),
  holder: textOrNull(row.holder),
  askedAt: Number(row.asked_at),
  waiting: Number(row.waiting),
  waitingBytes: Number(row.waiting_bytes),
  refused: Number(row.refused),
});
