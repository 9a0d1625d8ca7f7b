import type { DatabaseSync } from "node:sqlite";
import type { AgentKey } from "../../core/facts/ids.ts";
import type { KeptCards } from "../../core/ports/kept.ts";
import { inTransaction } from "./transaction.ts";

export const CARD_TABLES = `
   CREATE TABLE card (
     owner TEXT NOT NULL,
     id TEXT NOT NULL,
     title TEXT NOT NULL,
     made_at INTEGER NOT NULL,
     queued_at INTEGER,
     PRIMARY KEY (owner, id)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE card_thread (
     owner TEXT NOT NULL,
     thread TEXT NOT NULL,
     card TEXT NOT NULL,
     place INTEGER NOT NULL,
     PRIMARY KEY (owner, thread)
   ) STRICT, WITHOUT ROWID`;

export function keptCards(db: DatabaseSync, owner: string): KeptCards {
  return {
    cards: () => {
      const threads = Map.groupBy(
        db.prepare("SELECT card, thread FROM card_thread WHERE owner = ? ORDER BY place").all(owner),
        (row) => row.card,
      );
      return db
        .prepare("SELECT id, title, made_at, queued_at FROM card WHERE owner = ? ORDER BY made_at, id")
        .all(owner)
        .map((row) => ({
          id: row.id as string,
          title: row.title as string,
          madeAt: Number(row.made_at),
          queuedAt: row.queued_at === null ? null : Number(row.queued_at),
          threads: (threads.get(row.id as string) ?? []).map(({ thread }) => thread as AgentKey),
        }));
    },
    saveCard: ({ id, title, madeAt, queuedAt, threads }) =>
      inTransaction(db, () => {
        db.prepare(
          "INSERT INTO card (owner, id, title, made_at, queued_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET title = excluded.title, queued_at = excluded.queued_at",
        ).run(owner, id, title, madeAt, queuedAt);
        db.prepare("DELETE FROM card_thread WHERE owner = ? AND card = ?").run(owner, id);
        const add = db.prepare("INSERT OR REPLACE INTO card_thread (owner, thread, card, place) VALUES (?, ?, ?, ?)");
        for (const [place, thread] of threads.entries()) add.run(owner, thread, id, place);
      }),
    removeCard: (id) =>
      inTransaction(db, () => {
        db.prepare("DELETE FROM card_thread WHERE owner = ? AND card = ?").run(owner, id);
        return db.prepare("DELETE FROM card WHERE owner = ? AND id = ?").run(owner, id).changes > 0;
      }),
  };
}
