import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import type { Kept } from "../../core/ports/kept.ts";
import { withFaults } from "../fault.ts";
import { CARD_TABLES, keptCards } from "./cards.ts";
import { loadSqlite } from "./load.ts";
import { migrate } from "./migrate.ts";
import { OUTBOX_TABLES, outboxIn, POSTED_TABLE } from "./outbox.ts";
import { keptRelays, RELAY_TABLE } from "./relays.ts";

/** `owner` is part of every key, because a team server stores the data of many machines. */
const OWNER = "local";

/** One step per version. Steps are only added, never changed. */
const MIGRATIONS = [
  `CREATE TABLE link (
     owner TEXT NOT NULL,
     child TEXT NOT NULL,
     parent TEXT NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (owner, child)
   ) STRICT, WITHOUT ROWID`,
  OUTBOX_TABLES,
  `${CARD_TABLES}; ${RELAY_TABLE}`,
  "ALTER TABLE link ADD COLUMN call TEXT; ALTER TABLE link ADD COLUMN request TEXT",
  POSTED_TABLE,
];

export async function openKept(path: string): Promise<Kept> {
  return keptIn(await loadSqlite(), path);
}

type Sqlite = typeof import("node:sqlite");

/**
 * `readOnly`: reads a file that cannot be written, without the content of the write-ahead log.
 */
export function keptIn(sqlite: Sqlite, path: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): Kept {
  if (!readOnly) mkdirSync(dirname(path), { recursive: true });
  const db = opened(sqlite, path, readOnly);
  try {
    db.exec("PRAGMA busy_timeout = 5000");
    if (!readOnly) {
      db.exec("PRAGMA journal_mode = WAL");
      migrate(db, path, MIGRATIONS);
    }
    return withFaults({ ...decisionsIn(db), outbox: withFaults(outboxIn(db, OWNER)) });
  } catch (error) {
    db.close();
    throw error;
  }
}

function opened(sqlite: Sqlite, path: string, readOnly: boolean): DatabaseSync {
  if (!readOnly) return new sqlite.DatabaseSync(path);
  const url = pathToFileURL(path);
  // Without locks and shared memory, which need write access.
  url.search = "immutable=1";
  return new sqlite.DatabaseSync(url, { readOnly });
}

/** Copies what can be read of such a database to another file; false if something could not be read. */
export function copyKept(sqlite: Sqlite, from: string, to: string): boolean {
  try {
    const db = new sqlite.DatabaseSync(from);
    try {
      if (Number(db.prepare("PRAGMA user_version").get()?.user_version) === 0) return false;
      db.prepare("VACUUM INTO ?").run(to);
      return true;
    } finally {
      db.close();
    }
  } catch {
    // Damaged as well, or the disk is full; the caller reports the outcome.
    return false;
  }
}

function decisionsIn(db: DatabaseSync): Omit<Kept, "outbox"> {
  return {
    links: () =>
      db
        .prepare("SELECT child, parent, at, call, request FROM link WHERE owner = ? ORDER BY child")
        .all(OWNER)
        .map((row) => ({
          child: row.child as AgentKey,
          parent: row.parent as AgentKey,
          at: Number(row.at),
          call: row.call as CallKey | null,
          request: row.request as string | null,
        })),
    link: ({ child, parent, at, call, request }) => {
      const sql = `INSERT INTO link (owner, child, parent, at, call, request) VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET parent = excluded.parent, at = excluded.at, call = excluded.call, request = excluded.request`;
      db.prepare(sql).run(OWNER, child, parent, at, call, request);
    },
    unlink: (child) => db.prepare("DELETE FROM link WHERE owner = ? AND child = ?").run(OWNER, child).changes > 0,
    copyInto: (path) => void db.prepare("VACUUM INTO ?").run(path),
    ...keptCards(db, OWNER),
    ...keptRelays(db, OWNER),
    close: () => db.close(),
  };
}
