import { Failure } from "../../app/failure.ts";
import { DISTRIBUTION, openTeamStore, type TeamStore } from "../../app/team/store.ts";
import { parseDuration } from "../../core/tools/duration.ts";
import { plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { storeGiven } from "./team-token.ts";

export type DbAction = "migrate" | "distribute" | "prune";

export interface DbOptions {
  readonly store?: string;
  readonly print?: boolean;
  readonly olderThan?: string;
}

/** Maintains the database of a team server. */
export async function db(context: Context, action: DbAction, options: DbOptions): Promise<void> {
  if (action === "distribute" && options.print === true) return printDistribution(context);
  const url = storeGiven(`db ${action}`, options.store);
  const age = action === "prune" ? ageOf(options.olderThan) : 0;
  // No statement timeout: distributing a large table may take hours.
  const store = await openTeamStore(url, { connections: 1, statementMs: 0 });
  try {
    if (action === "migrate") report(context, store);
    else if (action === "distribute") await distribute(context, store);
    else await prune(context, store, age);
  } finally {
    await store.close();
  }
}

function ageOf(text: string | undefined): number {
  const age = text === undefined ? null : parseDuration(text);
  if (age === null)
    throw new Failure(
      "usage",
      text === undefined ? "db prune needs --older-than <time>" : `--older-than ${text}: not an age`,
      ["write --older-than 180d, or another duration with a unit"],
    );
  return age;
}

async function prune({ terminal, json }: Context, store: TeamStore, age: number): Promise<void> {
  const dropped = await store.prune(age);
  if (json) return terminal.out(printJson({ dropped }));
  terminal.out(
    dropped.length === 0
      ? "No month of events is that old."
      : `Dropped ${plural(dropped.length, "month")} of events: ${dropped.join(", ")}. Records and sums stay.`,
  );
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
