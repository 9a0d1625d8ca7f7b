import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { AgentKey, CallKey } from "../../core/ids.ts";
import type { ManualLink } from "../../core/parents.ts";
import { CARD_TABLES, type KeptCards, keptCards } from "./cards.ts";
import { loadSqlite } from "./load.ts";
import { migrate } from "./migrate.ts";
import { OUTBOX_TABLES, type Outbox, outboxIn, POSTED_TABLE } from "./outbox.ts";
import { type KeptRelays, keptRelays, RELAY_TABLE } from "./relays.ts";

/** What people decided. Apart from the index, because it cannot be worked out again. */
export interface Kept extends KeptCards, KeptRelays {
  links(): readonly ManualLink[];
  /** Replaces an earlier link of the same child. */
  link(link: ManualLink): void;
  /** False when there was none. */
  unlink(child: AgentKey): boolean;
  /** What is on its way to services elsewhere. */
  readonly outbox: Outbox;
  close(): void;
}

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
  const sqlite = await loadSqlite();
  mkdirSync(dirname(path), { recursive: true });
  const db = new sqlite.DatabaseSync(path);
  db.exec("PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL");
  migrate(db, path, MIGRATIONS);
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
    outbox: outboxIn(db, OWNER),
    ...keptCards(db, OWNER),
    ...keptRelays(db, OWNER),
    close: () => db.close(),
  };
}
