import type { DatabaseSync } from "node:sqlite";
import type { AgentKey } from "../../core/ids.ts";

/** A card as it is kept; where it stands follows from its threads. */
export interface KeptCard {
  readonly id: string;
  readonly title: string;
  readonly madeAt: number;
  /** When a person put it back to the beginning. */
  readonly queuedAt: number | null;
  /** In the order in which they were added. */
  readonly threads: readonly AgentKey[];
}

export interface KeptCards {
  /** Oldest first. */
  cards(): readonly KeptCard[];
  /** Adds it, or replaces what is known of it. A thread is in one card at most: it leaves the one that it was in. */
  saveCard(card: KeptCard): void;
  /** False when there was none. */
  removeCard(id: string): boolean;
}

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
  const whole = (work: () => void) => {
    db.exec("BEGIN IMMEDIATE");
    try {
      work();
      db.exec("COMMIT");
    } catch (error) {
      if (db.isTransaction) db.exec("ROLLBACK");
      throw error;
    }
  };
  return {
    cards: () => {
      const threads = Map.groupBy(db.prepare("SELECT card, thread FROM card_thread WHERE owner = ? ORDER BY place").all(owner), (row) => row.card);
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
      whole(() => {
        db.prepare(
          "INSERT INTO card (owner, id, title, made_at, queued_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET title = excluded.title, queued_at = excluded.queued_at",
        ).run(owner, id, title, madeAt, queuedAt);
        db.prepare("DELETE FROM card_thread WHERE owner = ? AND card = ?").run(owner, id);
        const add = db.prepare("INSERT OR REPLACE INTO card_thread (owner, thread, card, place) VALUES (?, ?, ?, ?)");
        for (const [place, thread] of threads.entries()) add.run(owner, thread, id, place);
      }),
    removeCard: (id) => {
      let found = false;
      whole(() => {
        db.prepare("DELETE FROM card_thread WHERE owner = ? AND card = ?").run(owner, id);
        found = db.prepare("DELETE FROM card WHERE owner = ? AND id = ?").run(owner, id).changes > 0;
      });
      return found;
    },
  };
}
