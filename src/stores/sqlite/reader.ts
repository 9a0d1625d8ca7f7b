import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "./transaction.ts";

const TABLES = [
  "folder",
  "file",
  "chunk",
  "pack",
  "thread",
  "file_thread",
  "holder",
  "seeker",
  "joined",
  "problem",
  "root",
  "spent",
  "agent",
  "speaker",
  "exchange",
  "invocation",
  "said",
  "words",
  "text_due",
  "note",
];

/** Deletes everything that another reader version has stored. */
export function discardOtherReader(db: DatabaseSync, reader: string): void {
  const stored = () => db.prepare("SELECT value FROM note WHERE name = 'reader'").get()?.value;
  if (stored() === reader) return;
  inTransaction(db, () => {
    // Another process may have done it while this one waited for the lock.
    if (stored() === reader) return;
    for (const table of TABLES) db.exec(`DELETE FROM ${table}`);
    db.prepare("INSERT INTO note (name, value) VALUES ('reader', ?)").run(reader);
  });
}
