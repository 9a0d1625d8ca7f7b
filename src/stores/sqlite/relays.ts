import type { DatabaseSync } from "node:sqlite";
import type { KeptRelays } from "../../core/ports/kept.ts";

export const RELAY_TABLE = `
   CREATE TABLE relay (
     owner TEXT NOT NULL,
     id TEXT NOT NULL,
     provider TEXT NOT NULL,
     url TEXT NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (owner, id)
   ) STRICT, WITHOUT ROWID`;

export function keptRelays(db: DatabaseSync, owner: string): KeptRelays {
  return {
    relays: () =>
      db
        .prepare("SELECT id, provider, url FROM relay WHERE owner = ? ORDER BY at, id")
        .all(owner)
        .map((row) => ({ id: row.id as string, provider: row.provider as string, url: row.url as string })),
    saveRelay: ({ id, provider, url }, at) => {
      db.prepare("INSERT OR REPLACE INTO relay (owner, id, provider, url, at) VALUES (?, ?, ?, ?, ?)").run(
        owner,
        id,
        provider,
        url,
        at,
      );
    },
    removeRelay: (id) => db.prepare("DELETE FROM relay WHERE owner = ? AND id = ?").run(owner, id).changes > 0,
  };
}
