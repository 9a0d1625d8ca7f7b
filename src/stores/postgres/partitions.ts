import { auditChange } from "./audit.ts";
import type { Database, Queries } from "./database.ts";
import { LOCK } from "./migrate.ts";
import { TOKENS } from "./token-statements.ts";

/** The partitions of events: one for each month, and one for events without a believable time. */

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

/** Creates the partitions of these months; returns those that exist now. Months that were dropped are not created again. */
export function createPartitions(database: Database, buckets: readonly string[]): Promise<string[]> {
  return changing(database, async (queries) => {
    const existing = new Set(await partitions(queries));
    const floor = await prunedBefore(queries);
    const open = buckets.filter((bucket) => existing.has(monthOf(bucket).name) || monthOf(bucket).to > floor);
    for (const { name, from, to } of open.map(monthOf).filter((month) => !existing.has(month.name)))
      await queries.all(
        `create table retinue.${name} partition of retinue.events for values from ('${from}') to ('${to}')`,
      );
    return open;
  });
}

/** Names of the partitions of events, the oldest first. */
export async function partitions(queries: Queries): Promise<string[]> {
  const rows = await queries.all<{ name: string }>(
    "select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'retinue.events'::regclass order by 1",
  );
  return rows.map(({ name }) => name);
}

/**
 * Drops the months that ended before this day, for good: events of these months that are sent again are not stored.
 * Agents, sums and details stay. Returns the names of the partitions.
 */
export function dropEventsBefore(database: Database, day: string): Promise<string[]> {
  return changing(database, async (queries) => {
    const old = (await partitions(queries)).filter(
      (name) => /^events_\d{4}_\d\d$/.test(name) && monthOf(`${name.slice(7).replace("_", "-")}-01`).to <= day,
    );
    for (const name of old) await queries.all(`drop table retinue.${name}`);
    await queries.all(TOKENS.raisePruned, [day]);
    if (old.length > 0) await auditChange(queries, "pruned", old.join(" "));
    return old;
  });
}

async function prunedBefore(queries: Queries): Promise<string> {
  const [row] = await queries.all<{ day: string }>(TOKENS.pruned);
  return row?.day ?? "";
}

/** One change of the partitions at a time. It waits for running reads; the lock timeout keeps it from blocking new ones. */
function changing<T>(database: Database, work: (queries: Queries) => Promise<T>): Promise<T> {
  return database.transaction(async (queries) => {
    await queries.all("set local lock_timeout = '5s'");
    await queries.all("select pg_advisory_xact_lock($1::bigint)", [LOCK]);
    return work(queries);
  });
}
