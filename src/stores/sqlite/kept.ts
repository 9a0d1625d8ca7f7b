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

/** `owner` stands in every key from the start: a team's server keeps many machines' decisions. */
const OWNER = "local";

/** A step a version; never changed, only added to. */
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
 * `readOnly`: where nothing can be written, what is there can still be read, without what only the write-ahead log
 * holds.
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
  // Without locks and shared memory, for which SQLite would have to write.
  url.search = "immutable=1";
  return new sqlite.DatabaseSync(url, { readOnly });
}

/** Saves what can be read of a database of this kind into another file; false where not all of it can. */
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
    // Damaged as well, or no room; the caller tells what came of it.
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
