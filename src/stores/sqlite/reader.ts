import type { DatabaseSync } from "node:sqlite";

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

/** Facts of another reader version are discarded. */
export function forgetOtherReader(db: DatabaseSync, reader: string) {
  const known = () => db.prepare("SELECT value FROM note WHERE name = 'reader'").get()?.value;
  if (known() === reader) return;
  db.exec("BEGIN IMMEDIATE");
  if (known() !== reader) {
    for (const table of TABLES) db.exec(`DELETE FROM ${table}`);
    db.prepare("INSERT INTO note (name, value) VALUES ('reader', ?)").run(reader);
  }
  db.exec("COMMIT");
}
