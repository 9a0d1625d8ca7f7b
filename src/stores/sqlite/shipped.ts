import type { DatabaseSync } from "node:sqlite";
import {
  type AgentShipped,
  LOST,
  REMOVING,
  type Shipped,
  type ThreadRefused,
  type ThreadSent,
} from "../../core/ports/shipped.ts";
import { withFaults } from "../fault.ts";
import { loadSqlite } from "./load.ts";
import { migrate } from "./migrate.ts";
import { inTransaction } from "./transaction.ts";

/** One step per version. Steps are only added, never changed. */
const MIGRATIONS = [
  `CREATE TABLE destination (
     name TEXT PRIMARY KEY,
     revision INTEGER NOT NULL DEFAULT 0,
     shipments INTEGER NOT NULL DEFAULT 0,
     documents INTEGER NOT NULL DEFAULT 0,
     bytes INTEGER NOT NULL DEFAULT 0,
     at INTEGER
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE thread (
     destination TEXT NOT NULL,
     uri TEXT NOT NULL,
     stamp TEXT NOT NULL,
     is_open INTEGER NOT NULL,
     PRIMARY KEY (destination, uri)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE agent (
     destination TEXT NOT NULL,
     thread TEXT NOT NULL,
     uri TEXT NOT NULL,
     state TEXT NOT NULL,
     PRIMARY KEY (destination, thread, uri)
   ) STRICT, WITHOUT ROWID`,
  "ALTER TABLE destination ADD COLUMN number INTEGER NOT NULL DEFAULT 0",
  "ALTER TABLE thread ADD COLUMN sent TEXT",
  "ALTER TABLE thread ADD COLUMN refused TEXT",
  "ALTER TABLE destination ADD COLUMN owner TEXT",
];

/** `path` may be `:memory:`. */
export async function openShipped(path: string): Promise<Shipped> {
  const { DatabaseSync: Database } = await loadSqlite();
  const db = new Database(path);
  try {
    db.exec("PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL");
    migrate(db, path, MIGRATIONS);
    return withFaults(shippedIn(db));
  } catch (error) {
    db.close();
    throw error;
  }
}

function statementsOf(db: DatabaseSync) {
  return {
    threads: db.prepare("SELECT uri, stamp, is_open, sent, refused FROM thread WHERE destination = ?"),
    thread: db.prepare("SELECT uri, stamp, is_open, sent, refused FROM thread WHERE destination = ? AND uri = ?"),
    agents: db.prepare("SELECT uri, state FROM agent WHERE destination = ? AND thread = ?"),
    agent: db.prepare("SELECT state FROM agent WHERE destination = ? AND thread = ? AND uri = ?"),
    open: db.prepare("INSERT OR IGNORE INTO destination (name) VALUES (?)"),
    state: db.prepare("SELECT revision, shipments, documents, bytes, at FROM destination WHERE name = ?"),
    number: db.prepare("SELECT number, owner FROM destination WHERE name = ?"),
    setNumber: db.prepare("UPDATE destination SET number = ?, owner = coalesce(?, owner) WHERE name = ?"),
    doubtThreads: db.prepare(`UPDATE thread SET stamp = '${LOST}', is_open = 1 WHERE destination = ?`),
    forgetAgents: db.prepare("DELETE FROM agent WHERE destination = ?"),
    reserve: db.prepare("UPDATE destination SET revision = ? WHERE name = ?"),
    count: db.prepare(
      "UPDATE destination SET shipments = shipments + 1, documents = documents + ?, bytes = bytes + ?, at = ? WHERE name = ?",
    ),
    setThread: db.prepare(
      `INSERT INTO thread (destination, uri, stamp, is_open, sent) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET stamp = excluded.stamp, is_open = excluded.is_open, sent = excluded.sent, refused = NULL`,
    ),
    setAside: db.prepare(
      `INSERT INTO thread (destination, uri, stamp, is_open, refused) VALUES (?, ?, '', 1, ?)
         ON CONFLICT DO UPDATE SET refused = excluded.refused`,
    ),
    removing: db.prepare(
      `INSERT INTO thread (destination, uri, stamp, is_open) VALUES (?, ?, '${REMOVING}', 1)
         ON CONFLICT DO UPDATE SET stamp = excluded.stamp, is_open = 1`,
    ),
    /** Its stamp is no longer valid; the removal of a thread, and what the server has lost, stay in doubt. */
    touchThread: db.prepare(
      `INSERT INTO thread (destination, uri, stamp, is_open) VALUES (?, ?, '', 1)
         ON CONFLICT DO UPDATE SET stamp = '', is_open = 1 WHERE stamp NOT IN ('${REMOVING}', '${LOST}')`,
    ),
    arrived: db.prepare(`UPDATE thread SET stamp = '' WHERE destination = ? AND uri = ? AND stamp <> '${LOST}'`),
    dropThread: db.prepare("DELETE FROM thread WHERE destination = ? AND uri = ?"),
    dropAgents: db.prepare("DELETE FROM agent WHERE destination = ? AND thread = ?"),
    setAgent: db.prepare(
      `INSERT INTO agent (destination, thread, uri, state) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET state = excluded.state`,
    ),
    dropAgent: db.prepare("DELETE FROM agent WHERE destination = ? AND thread = ? AND uri = ?"),
  };
}

type Row = Readonly<Record<string, unknown>>;
type Queries = "threads" | "thread" | "agents" | "agent" | "totals";

const threadOf = (row: Row) => ({
  uri: String(row.uri),
  stamp: String(row.stamp),
  isOpen: row.is_open === 1,
  sent: parsed<ThreadSent>(row.sent),
  refused: parsed<ThreadRefused>(row.refused),
});
const parsed = <T>(json: unknown) => (json == null ? null : (JSON.parse(String(json)) as T));
const agentOf = (row: Row) => JSON.parse(String(row.state)) as AgentShipped;

function shippedIn(db: DatabaseSync): Shipped {
  const sql = statementsOf(db);
  return { ...queriesOf(sql), ...updatesOf(db, sql), close: () => db.close() };
}

function queriesOf(sql: ReturnType<typeof statementsOf>): Pick<Shipped, Queries> {
  return {
    threads: (destination) => sql.threads.all(destination).map(threadOf),
    thread: (destination, uri) => {
      const row = sql.thread.get(destination, uri);
      return row === undefined ? null : threadOf(row);
    },
    agents: (destination, thread) =>
      new Map(sql.agents.all(destination, thread).map((row) => [String(row.uri), agentOf(row)])),
    agent: (destination, thread, uri) => {
      const row = sql.agent.get(destination, thread, uri);
      return row === undefined ? undefined : agentOf(row);
    },
    totals: (destination) => {
      const row = sql.state.get(destination);
      return {
        shipments: Number(row?.shipments ?? 0),
        documents: Number(row?.documents ?? 0),
        bytes: Number(row?.bytes ?? 0),
        at: row?.at == null ? null : Number(row.at),
      };
    },
  };
}

function updatesOf(db: DatabaseSync, sql: ReturnType<typeof statementsOf>): Omit<Shipped, Queries | "close"> {
  const atomically = <T>(work: () => T): T => inTransaction(db, work);
  return {
    reserve: (destination, count, least) =>
      atomically(() => {
        sql.open.run(destination);
        const first = Math.max(Number(sql.state.get(destination)?.revision ?? 0) + 1, least);
        sql.reserve.run(first + count - 1, destination);
        return first;
      }),
    arrived: (destination, number, owner = null) =>
      atomically(() => {
        sql.open.run(destination);
        const before = sql.number.get(destination);
        // Each owner's shipments are counted from 1.
        const isSame = owner === null || (before?.owner ?? owner) === owner;
        const isNext = isSame && number > Number(before?.number ?? 0);
        if (!isNext) for (const forget of [sql.doubtThreads, sql.forgetAgents]) forget.run(destination);
        sql.setNumber.run(number, owner, destination);
        return isNext;
      }),
    resend: (destination, threads) =>
      atomically(() => {
        const open = threads.filter((uri) => sql.thread.get(destination, uri)?.stamp !== REMOVING);
        for (const uri of open) {
          sql.removing.run(destination, uri);
          sql.dropAgents.run(destination, uri);
        }
        return open.length;
      }),
    setAside: (destination, uri, refused) => void sql.setAside.run(destination, uri, JSON.stringify(refused)),
    attempt: (destination, { agents, removed }) =>
      atomically(() => {
        for (const thread of new Set(agents.map((one) => one.thread))) sql.touchThread.run(destination, thread);
        for (const { thread, uri, state } of agents) sql.setAgent.run(destination, thread, uri, JSON.stringify(state));
        for (const uri of removed) {
          sql.removing.run(destination, uri);
          sql.dropAgents.run(destination, uri);
        }
      }),
    acknowledge: (destination, { documents, bytes, at, agents, threads }) =>
      atomically(() => {
        for (const thread of new Set(agents.map((one) => one.thread))) sql.arrived.run(destination, thread);
        for (const { uri, state } of threads) {
          if (state !== null) {
            sql.setThread.run(destination, uri, state.stamp, state.isOpen ? 1 : 0, JSON.stringify(state.sent));
            continue;
          }
          sql.dropThread.run(destination, uri);
          sql.dropAgents.run(destination, uri);
        }
        for (const { thread, uri, state } of agents) {
          if (state === null) sql.dropAgent.run(destination, thread, uri);
          else sql.setAgent.run(destination, thread, uri, JSON.stringify(state));
        }
        sql.open.run(destination);
        sql.count.run(documents, bytes, at, destination);
      }),
  };
}
