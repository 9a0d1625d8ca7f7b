import type { DatabaseSync } from "node:sqlite";

/** The file was written by a newer version; it is left alone. */
export class NewerFile extends Error {}

/** Brings a database up to date, a step at a time, each whole or not at all. */
export function migrate(db: DatabaseSync, path: string, migrations: readonly string[]): void {
  const version = () => Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  if (version() > migrations.length)
    throw new NewerFile(
      `${path} was written by a newer retinue (version ${version()}); this one knows ${migrations.length}`,
    );
  if (version() === migrations.length) return;
  // Two processes may arrive here at once: whoever waited finds the work done.
  db.exec("BEGIN IMMEDIATE");
  try {
    for (const [step, sql] of migrations.entries()) {
      if (step < version()) continue;
      db.exec(sql);
      db.exec(`PRAGMA user_version = ${step + 1}`);
    }
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}
