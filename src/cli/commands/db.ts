import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";

export interface DbOptions {
  readonly store: string;
}

/** Brings the schema of a team's database up to date. */
export async function migrateDatabase({ terminal, json }: Context, { store: url }: DbOptions): Promise<void> {
  const { openTeamStore } = await import("../../app/team/store.ts");
  const store = await openTeamStore(url, 1);
  const { from, to } = store.migrated;
  await store.close();
  if (json) return terminal.out(printJson({ from, to }));
  terminal.out(
    from === to ? `The schema is up to date: version ${to}.` : `Migrated the schema from version ${from} to ${to}.`,
  );
}
