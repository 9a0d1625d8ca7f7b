import { ownerPrefix } from "../../../src/stores/postgres/values.ts";
import type { Sql } from "../../../test/support/sql.ts";

/** Tables with the rows of one owner each. */
const TABLES = ["owners", "machines", "threads", "agents", "logs", "events", "lists", "details", "spent", "months"];
const INDEXES = ["events_id", "events_time", "events_seq", "events_words"];

/**
 * Copies everything of one owner to owners `dev<from>` to `dev<to>`, in the database: the same rows as if each of them
 * had shipped. Indexes of events are built afterwards. `notify` reports each step.
 */
export async function copyOwner(
  sql: Sql,
  original: string,
  from: number,
  to: number,
  notify: (text: string) => void,
): Promise<void> {
  const built = await sql.all<{ indexdef: string }>(
    "select indexdef from pg_indexes where schemaname = 'retinue' and indexname = any($1)",
    [INDEXES],
  );
  for (const name of INDEXES) await sql.all(`drop index if exists retinue.${name}`);
  const columns = new Map<string, readonly string[]>();
  for (const table of TABLES) columns.set(table, await columnsOf(sql, table));
  // One owner after another: the rows of an owner are neighbours in every index.
  for (let n = from; n <= to; n += 1)
    for (const [table, names] of columns) {
      const values = names.map((name) => copiedValue(table, name, original, n)).join(", ");
      await sql.all(`insert into retinue.${table} (${names.join(", ")}) select ${values}
        from retinue.${table} o where o.owner = '${original}' on conflict do nothing`);
    }
  await sql.all(`insert into retinue.tokens (id, hash, owner, scope, teams)
    select 'copy' || n, 'copy' || n, 'dev' || n, 'ship', '{}' from generate_series(${from}, ${to}) as n on conflict do nothing`);
  notify("building indexes");
  for (const { indexdef } of built) await sql.all(indexdef.replace(" ON ONLY ", " ON "));
  notify("vacuum");
  await sql.all("vacuum analyze");
}

async function columnsOf(sql: Sql, table: string): Promise<string[]> {
  const columns = await sql.all<{ name: string }>(
    "select column_name as name from information_schema.columns where table_schema = 'retinue' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position",
    [table],
  );
  return columns.map(({ name }) => name);
}

/** What the copy for `dev<n>` has in a column. */
function copiedValue(table: string, column: string, original: string, n: number): string {
  if (column === "owner") return `'dev${n}'`;
  // So that the order of the owners by activity is unique.
  if (column === "active_at") return `o.active_at - ${n} * interval '37 seconds'`;
  // Every word begins with the prefix of its owner.
  if (table === "events" && column === "words")
    return `replace(o.words::text, '''${ownerPrefix(original)}', '''${ownerPrefix(`dev${n}`)}')::tsvector`;
  return `o.${column}`;
}
