import type { DatabaseSync } from "node:sqlite";

/** Runs the work in one write transaction; an error rolls it back. */
export function inTransaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // A full disk ends the transaction by itself.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
