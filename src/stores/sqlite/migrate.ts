import type { DatabaseSync } from "node:sqlite";

/** The file was written by a newer version and is not changed. */
export class NewerFile extends Error {}

/** Migrates a database step by step, each in a transaction. */
export function migrate(db: DatabaseSync, path: string, migrations: readonly string[]): void {
  const version = () => Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  if (version() > migrations.length)
    throw new NewerFile(
      `${path} was written by a newer retinue (version ${version()}); this one knows ${migrations.length}`,
    );
  if (version() === migrations.length) return;
  // Another process may have migrated it while this one waited for the lock.
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
