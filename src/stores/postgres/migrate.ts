import type { Database, Queries } from "./database.ts";
import { MIGRATIONS } from "./schema.ts";

/** Migrations of several servers run one after another. */
const LOCK = 4_747_028;

/** The schema of the database needs a newer retinue. */
export class NewerSchema extends Error {
  constructor(found: number, needs: number) {
    super(`the database has schema ${found}, which needs a retinue that knows schema ${needs}`);
    this.name = "NewerSchema";
  }
}

export interface Migrated {
  readonly from: number;
  readonly to: number;
}

const LATEST = MIGRATIONS.at(-1)?.version ?? 0;

/**
 * Brings the schema up to date. Each migration is one transaction. A newer schema is left alone, and refused unless it
 * says that this version may run on it.
 */
export function migrate(database: Database): Promise<Migrated> {
  return database.transaction(async (queries) => {
    await queries.all("select pg_advisory_xact_lock($1::bigint)", [LOCK]);
    await queries.all("create schema if not exists retinue");
    await queries.all(
      "create table if not exists retinue.schema (version integer primary key, compatible_from integer not null, migrated_at timestamptz not null default now())",
    );
    const [state] = await queries.all<{ version: number | null; compatible: number | null }>(
      "select max(version) as version, max(compatible_from) as compatible from retinue.schema",
    );
    const from = state?.version ?? 0;
    if ((state?.compatible ?? 0) > LATEST) throw new NewerSchema(from, state?.compatible ?? 0);
    for (const migration of MIGRATIONS.filter(({ version }) => version > from)) {
      for (const statement of statementsOf(migration.script)) await queries.all(statement);
      await queries.all("insert into retinue.schema (version, compatible_from) values ($1, $2)", [
        migration.version,
        migration.compatibleFrom,
      ]);
    }
    return { from, to: Math.max(from, LATEST) };
  });
}

const statementsOf = (script: string) =>
  script
    .replace(/^\s*--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");

/** One month of events, as the name and the bounds of its partition. */
export interface Month {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

export function monthOf(bucket: string): Month {
  const [year = 0, month = 0] = bucket.split("-").map(Number);
  const next = new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);
  return { name: `events_${bucket.slice(0, 7).replace("-", "_")}`, from: bucket, to: next };
}

/** Creates the partitions of these months. */
export async function createPartitions(database: Database, buckets: readonly string[]): Promise<void> {
  await database.transaction(async (queries) => {
    await queries.all("select pg_advisory_xact_lock($1::bigint)", [LOCK]);
    const existing = new Set(await partitions(queries));
    for (const { name, from, to } of buckets.map(monthOf).filter((month) => !existing.has(month.name)))
      await queries.all(
        `create table retinue.${name} partition of retinue.events for values from ('${from}') to ('${to}')`,
      );
  });
}

/** Names of the partitions of events, the oldest first. */
export async function partitions(queries: Queries): Promise<string[]> {
  const rows = await queries.all<{ name: string }>(
    "select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'retinue.events'::regclass order by 1",
  );
  return rows.map(({ name }) => name);
}

/** Drops the months that ended before this day. Agents, sums and details stay. Returns the names of the partitions. */
export async function dropEventsBefore(database: Database, day: string): Promise<string[]> {
  return database.transaction(async (queries) => {
    await queries.all("select pg_advisory_xact_lock($1::bigint)", [LOCK]);
    const old = (await partitions(queries)).filter(
      (name) => /^events_\d{4}_\d\d$/.test(name) && monthOf(`${name.slice(7).replace("_", "-")}-01`).to <= day,
    );
    for (const name of old) await queries.all(`drop table retinue.${name}`);
    return old;
  });
}
