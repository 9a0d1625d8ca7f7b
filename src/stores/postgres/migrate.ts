import type { Database, Queries } from "./database.ts";
import { MIGRATIONS, type Migration } from "./schema.ts";

/** Changes of the schema by several servers are made one after another. */
export const LOCK = 4_747_028;

/** The schema of the database needs a newer retinue. */
export class NewerSchema extends Error {
  constructor(found: number, needs: number) {
    super(`the database has schema ${found}, which needs a retinue that knows schema ${needs}`);
    this.name = "NewerSchema";
  }
}

/** The schema of the database is one that was never released. */
export class UnreleasedSchema extends Error {
  constructor(found: number) {
    super(`the database has schema ${found}, which was never released`);
    this.name = "UnreleasedSchema";
  }
}

/** The tables are there, but nothing says of which version they are. */
export class UnknownSchema extends Error {
  constructor() {
    super("the database has tables of retinue, but not the version of their schema");
    this.name = "UnknownSchema";
  }
}

/** The database cannot store every text. */
export class OtherEncoding extends Error {
  constructor(encoding: string) {
    super(`the database must use the encoding UTF8; it uses ${encoding}`);
    this.name = "OtherEncoding";
  }
}

export interface Migrated {
  readonly from: number;
  readonly to: number;
}

/**
 * Brings the schema up to date. Each migration is one transaction. A newer schema is left alone, and refused unless it
 * says that this version may run on it.
 */
export function migrate(database: Database, migrations: readonly Migration[] = MIGRATIONS): Promise<Migrated> {
  const latest = migrations.at(-1)?.version ?? 0;
  return database.transaction(async (queries) => {
    await queries.all("select pg_advisory_xact_lock($1::bigint)", [LOCK]);
    const [{ encoding } = { encoding: "" }] = await queries.all<{ encoding: string }>(
      "select current_setting('server_encoding') as encoding",
    );
    if (encoding !== "UTF8") throw new OtherEncoding(encoding);
    await queries.all("create schema if not exists retinue");
    await queries.all(
      "create table if not exists retinue.schema (version integer primary key, compatible_from integer not null, migrated_at timestamptz not null default now())",
    );
    const [state] = await queries.all<{ version: number | null; compatible: number | null }>(
      "select max(version) as version, max(compatible_from) as compatible from retinue.schema",
    );
    const from = state?.version ?? 0;
    if ((state?.compatible ?? 0) > latest) throw new NewerSchema(from, state?.compatible ?? 0);
    if (from > 0 && from < (migrations[0]?.version ?? 0)) throw new UnreleasedSchema(from);
    if (from === 0 && (await hasTables(queries))) throw new UnknownSchema();
    for (const migration of migrations.filter(({ version }) => version > from)) {
      for (const statement of statementsOf(migration.script)) await queries.all(statement);
      await queries.all("insert into retinue.schema (version, compatible_from) values ($1, $2)", [
        migration.version,
        migration.compatibleFrom,
      ]);
    }
    return { from, to: Math.max(from, latest) };
  });
}

/** Whether there are tables besides the one that was created just now. */
async function hasTables(queries: Queries): Promise<boolean> {
  const tables = await queries.all(
    "select c.relname from pg_class c where c.relnamespace = 'retinue'::regnamespace and c.relkind in ('r', 'p') and c.relname <> 'schema' limit 1",
  );
  return tables.length > 0;
}

const statementsOf = (script: string) =>
  script
    .replace(/^\s*--.*$/gm, "")
    .split(";")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
