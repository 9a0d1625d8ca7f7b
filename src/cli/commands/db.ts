import { Failure } from "../../app/failure.ts";
import { DISTRIBUTION, openTeamStore, type TeamStore } from "../../app/team/store.ts";
import { plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";

export type DbAction = "migrate" | "distribute";

export interface DbOptions {
  readonly store?: string;
  readonly print?: boolean;
}

/** Looks after the database of a team server. */
export async function db(context: Context, action: DbAction, options: DbOptions): Promise<void> {
  if (action === "distribute" && options.print === true) return printDistribution(context);
  const { store: url } = options;
  if (url === undefined)
    throw new Failure("usage", `db ${action} needs --store <postgres url>`, [
      `write retinue db ${action} --store postgres://user@host/database`,
    ]);
  // Moving the rows of a large table takes as long as it takes.
  const store = await openTeamStore(url, { connections: 1, statementMs: 0 });
  try {
    await (action === "migrate" ? report(context, store) : distribute(context, store));
  } finally {
    await store.close();
  }
}

function report({ terminal, json }: Context, { migrated: { from, to } }: TeamStore): void {
  const text =
    from === to ? `The schema is up to date: version ${to}.` : `Migrated the schema from version ${from} to ${to}.`;
  terminal.out(json ? printJson({ from, to }) : text);
}

function printDistribution({ terminal, json }: Context): void {
  terminal.out(json ? printJson(DISTRIBUTION) : DISTRIBUTION.map(({ statement }) => `${statement};`).join("\n"));
}

async function distribute({ terminal, json }: Context, store: TeamStore): Promise<void> {
  const tables = await store.distribute();
  if (json) return terminal.out(printJson({ distributed: tables }));
  terminal.out(
    tables.length === 0
      ? "All tables were already distributed."
      : `Distributed ${plural(tables.length, "table")}: ${tables.join(", ")}.`,
  );
}
