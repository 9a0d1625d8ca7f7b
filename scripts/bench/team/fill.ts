import type postgres from "postgres";
import { ownerPrefix } from "../../../src/stores/postgres/values.ts";

/** Tables with the rows of one owner each, and how the copy of a column differs from the original. */
const TABLES = ["owners", "machines", "threads", "agents", "logs", "events", "lists", "details", "spent"];
/** Where a stored word begins, after the prefix of its owner. */
const WORD_AT = ownerPrefix("").length + 1;
const INDEXES = ["events_id", "events_time", "events_seq", "events_words"];

/**
 * Copies everything of one owner to owners `dev<from>` to `dev<to>`, in the database: the same rows as if each of them
 * had shipped. Indexes of events are built afterwards.
 */
export async function copyOwner(sql: postgres.Sql, original: string, from: number, to: number): Promise<void> {
  const built = await sql<
    { indexdef: string }[]
  >`select indexdef from pg_indexes where schemaname = 'retinue' and indexname in ${sql(INDEXES)}`;
  await sql.unsafe("set statement_timeout = 0");
  const prefixes = Array.from({ length: to - from + 1 }, (_, i) => `'${ownerPrefix(`dev${from + i}`)}'`).join(", ");
  for (const name of INDEXES) await sql.unsafe(`drop index if exists retinue.${name}`);
  for (const table of TABLES) {
    const columns = await sql<{ name: string }[]>`select column_name as name from information_schema.columns
      where table_schema = 'retinue' and table_name = ${table} and is_generated = 'NEVER' order by ordinal_position`;
    const names = columns.map(({ name }) => name);
    const values = names.map((name) => {
      if (name === "owner") return "'dev' || n.n";
      // Nobody works at exactly the same time.
      if (name === "active_at") return "o.active_at - n.n * interval '37 seconds'";
      if (table === "events" && name === "words")
        return `coalesce((select array_to_tsvector(array_agg((array[${prefixes}])[n.n - ${from} + 1] || substr(w, ${WORD_AT})))
          from unnest(tsvector_to_array(o.words)) w), '')`;
      return `o.${name}`;
    });
    await sql.unsafe(`insert into retinue.${table} (${names.join(", ")}) select ${values.join(", ")}
      from generate_series(${from}, ${to}) as n (n) cross join retinue.${table} o where o.owner = '${original}' on conflict do nothing`);
  }
  await sql.unsafe(`insert into retinue.tokens (id, hash, owner, scope, teams)
    select 'copy' || n, 'copy' || n, 'dev' || n, 'ship', '{}' from generate_series(${from}, ${to}) as n on conflict do nothing`);
  for (const { indexdef } of built) await sql.unsafe(indexdef.replace(" ON ONLY ", " ON "));
  await sql.unsafe("vacuum analyze");
}
