import { withoutSecrets } from "../../core/redaction/secrets.ts";
import { Budgets } from "../../stores/postgres/budgets.ts";
import { type DatabaseCounts, type DatabaseOptions, openDatabase } from "../../stores/postgres/database.ts";
import { distribute } from "../../stores/postgres/distribute.ts";
import { type Ingest, ingester } from "../../stores/postgres/ingest.ts";
import { CHANNEL } from "../../stores/postgres/ingest-statements.ts";
import { type Migrated, migrate } from "../../stores/postgres/migrate.ts";
import { Overview } from "../../stores/postgres/overview.ts";
import { createPartitions, dropEventsBefore } from "../../stores/postgres/partitions.ts";
import { Reader } from "../../stores/postgres/reader.ts";
import { FallbackReads, PRIMARY_MS, type ReadCounts, ReplicatedReads } from "../../stores/postgres/replicas.ts";
import { withTimeout } from "../../stores/postgres/timeout.ts";
import { Tokens } from "../../stores/postgres/tokens.ts";
import { Failure } from "../failure.ts";
import { explained, refusedByCitus } from "./refusals.ts";

export { DISTRIBUTION } from "../../stores/postgres/distribute.ts";
export type { Overview } from "../../stores/postgres/overview.ts";
export type { AgentPlace, NamedAgent, OwnerChanges, Reader, ThreadPosition } from "../../stores/postgres/reader.ts";
export { type Grant, type ListedToken, NAME, type Tokens } from "../../stores/postgres/tokens.ts";
export { isUnstorableValue } from "../../stores/postgres/values.ts";

export interface TeamListener {
  readonly onShipment: (owner: string, seq: number) => void;
  /** Somebody may see more or less than before. */
  readonly onAccess: () => void;
  /** Shipments may have been missed. */
  readonly onListen: () => void;
}

/** The database of a team. */
export interface TeamStore {
  readonly reader: Reader;
  readonly overview: Overview;
  readonly budgets: Budgets;
  readonly tokens: Tokens;
  readonly ingest: Ingest;
  readonly migrated: Migrated;
  /** Statements that the primary and the replicas answered. */
  readonly reads: Readonly<ReadCounts>;
  readonly counts: Readonly<DatabaseCounts>;
  /** Calls back for what happens on any server. */
  listen(listener: TeamListener): Promise<void>;
  /** Rejects if the primary does not respond. */
  ping(): Promise<void>;
  /** Creates the partitions of this month and the next one. */
  prepare(): Promise<void>;
  /** Drops the months of events that are older than this; returns their names. */
  prune(ageMs: number): Promise<readonly string[]>;
  /** Distributes the tables over the nodes of a cluster; returns those that were not distributed before. */
  distribute(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface TeamStoreOptions extends DatabaseOptions {
  /** Addresses of replicas to read from. */
  readonly replicas?: readonly string[];
}

/** Opens the database and brings its schema up to date. Loaded on demand: only team servers need it. */
export async function openTeamStore(
  url: string,
  { replicas: addresses = [], ...options }: TeamStoreOptions = {},
): Promise<TeamStore> {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new Failure("usage", `--store ${withoutSecrets(url)}: not the address of a PostgreSQL database`, [
      "write postgres://user@host/database",
    ]);
  const open = (address: string) => openDatabase(address, options).catch(explained);
  const database = await open(url);
  // They connect when they are asked, so one that is away does no harm.
  const replicas = await Promise.all(addresses.map(open));
  const reads = new ReplicatedReads(database, replicas);
  const fallback = new FallbackReads(database, replicas);
  const close = async () => void (await Promise.all([database, ...replicas].map((one) => one.close())));
  try {
    const migrated = await migrate(database);
    const ingest = ingester(database);
    return {
      reader: new Reader(reads, (owners) => reads.newest(owners)),
      overview: new Overview(reads),
      budgets: new Budgets(database, fallback),
      tokens: new Tokens(database, fallback),
      reads: reads.counts,
      counts: database.counts,
      ingest: async (owner, head, documents) => {
        await fallback.reachable();
        return ingest(owner, head, documents);
      },
      migrated,
      listen: ({ onShipment, onAccess, onListen }) =>
        database.listen(
          CHANNEL,
          (payload) => {
            const [owner, seq = 0] = JSON.parse(payload) as [string?, number?];
            if (owner === undefined) return onAccess();
            reads.saw(owner, seq);
            onShipment(owner, seq);
          },
          onListen,
        ),
      ping: async () => {
        const asked = database.all<{ standby: boolean }>("select pg_is_in_recovery() as standby");
        const [row] = await withTimeout(PRIMARY_MS, asked);
        if (row?.standby !== false) throw new Failure("unavailable", "the database is a replica");
      },
      prepare: async () => {
        const [year = 0, month = 0] = new Date().toISOString().split("-").map(Number);
        const ahead = [0, 1].map((more) => new Date(Date.UTC(year, month - 1 + more, 1)).toISOString().slice(0, 10));
        await createPartitions(database, ahead);
      },
      // No event is older than 1970.
      prune: (ageMs) =>
        dropEventsBefore(database, new Date(Math.max(0, Date.now() - ageMs)).toISOString().slice(0, 10)),
      distribute: () => distribute(database).catch((error: unknown) => explained(refusedByCitus(error))),
      close,
    };
  } catch (error) {
    await close();
    return explained(error);
  }
}
