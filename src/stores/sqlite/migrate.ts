import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "./transaction.ts";

/** The file was written by a newer version and is not changed. */
export class NewerFile extends Error {}

/** Brings a database to the current version, in one transaction. */
export function migrate(db: DatabaseSync, path: string, migrations: readonly string[]): void {
  const version = () => Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
  if (version() > migrations.length)
    throw new NewerFile(
      `${path} was written by a newer retinue (version ${version()}); this one knows ${migrations.length}`,
    );
  if (version() === migrations.length) return;
  // Another process may have migrated it while this one waited for the lock.
  inTransaction(db, () => {
    for (const [step, sql] of migrations.entries()) {
      if (step < version()) continue;
      db.exec(sql);
      db.exec(`PRAGMA user_version = ${step + 1}`);
    }
  });
}
