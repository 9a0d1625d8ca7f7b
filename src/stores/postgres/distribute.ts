import type { Database } from "./database.ts";
import { OWNED_TABLES, SHARED_TABLES } from "./schema.ts";

/** The database has no extension that distributes tables. */
export class NoCitus extends Error {
  constructor() {
    super("the database has no Citus extension");
    this.name = "NoCitus";
  }
}

export interface Distribution {
  readonly table: string;
  readonly statement: string;
}

const [FIRST] = OWNED_TABLES;

/**
 * What Citus is told, in order. All rows of an owner are on one node, in shards of the same group, so every statement
 * and every transaction about one owner runs there. The shared tables are copied to every node.
 */
export const DISTRIBUTION: readonly Distribution[] = [
  ...SHARED_TABLES.map((table) => ({ table, statement: `select create_reference_table('retinue.${table}')` })),
  ...OWNED_TABLES.map((table) => ({
    table,
    statement: `select create_distributed_table('retinue.${table}', 'owner', colocate_with => '${table === FIRST ? "none" : `retinue.${FIRST}`}')`,
  })),
];

/** Distributes the tables that are not distributed yet; returns their names. If it is interrupted, run it again. */
export async function distribute(database: Database): Promise<string[]> {
  const [citus] = await database.all<{ found: boolean }>(
    "select to_regproc('create_distributed_table') is not null as found",
  );
  if (citus?.found !== true) throw new NoCitus();
  const rows = await database.all<{ name: string }>(
    "select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid where c.relnamespace = 'retinue'::regnamespace",
  );
  const done = new Set(rows.map(({ name }) => name));
  const open = DISTRIBUTION.filter(({ table }) => !done.has(table));
  for (const { statement } of open) await database.all(statement);
  return open.map(({ table }) => table);
}
