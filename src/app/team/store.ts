import { Budgets } from "../../stores/postgres/budgets.ts";
import { type DatabaseOptions, openDatabase } from "../../stores/postgres/database.ts";
import { distribute, NoCitus } from "../../stores/postgres/distribute.ts";
import { type Ingest, ingester } from "../../stores/postgres/ingest.ts";
import { CHANNEL } from "../../stores/postgres/ingest-statements.ts";
import { type Migrated, migrate, NewerSchema } from "../../stores/postgres/migrate.ts";
import { Overview } from "../../stores/postgres/overview.ts";
import { Reader } from "../../stores/postgres/reader.ts";
import { Tokens } from "../../stores/postgres/tokens.ts";
import { asFailure, Failure } from "../failure.ts";

export { DISTRIBUTION } from "../../stores/postgres/distribute.ts";
export type { Overview } from "../../stores/postgres/overview.ts";
export type { AgentPlace, NamedAgent, OwnerChanges, Reader, ThreadPosition } from "../../stores/postgres/reader.ts";
export { type Grant, type ListedToken, NAME, type Tokens } from "../../stores/postgres/tokens.ts";

/** The database of a team. */
export interface TeamStore {
  readonly reader: Reader;
  readonly overview: Overview;
  readonly budgets: Budgets;
  readonly tokens: Tokens;
  readonly ingest: Ingest;
  readonly migrated: Migrated;
  /** Calls back for every shipment, on any server. `onListen`: some may have been missed. */
  listen(onShipment: (owner: string, seq: number) => void, onListen: () => void): Promise<() => Promise<void>>;
  /** Rejects if the database does not respond. */
  ping(): Promise<void>;
  /** Distributes the tables over the nodes of a cluster; returns those that were not distributed before. */
  distribute(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Opens the database and brings its schema up to date. Loaded on demand: only team servers need it. */
export async function openTeamStore(url: string, options: DatabaseOptions = {}): Promise<TeamStore> {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new Failure("usage", "--store needs the address of a PostgreSQL database", [
      "write postgres://user@host/database",
    ]);
  const database = await openDatabase(url, options);
  try {
    const migrated = await migrate(database);
    return {
      reader: new Reader(database),
      overview: new Overview(database),
      budgets: new Budgets(database),
      tokens: new Tokens(database),
      ingest: ingester(database),
      migrated,
      listen: (onShipment, onListen) =>
        database.listen(
          CHANNEL,
          (payload) => {
            const [owner, seq] = JSON.parse(payload) as [string, number];
            onShipment(owner, seq);
          },
          onListen,
        ),
      ping: async () => void (await database.all("select 1 as one")),
      distribute: () => distribute(database).catch(explained),
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    return explained(error);
  }
}

/** Errors that the user can do something about, as such. */
function explained(error: unknown): never {
  if (error instanceof NewerSchema) throw new Failure("failed", error.message, ["update retinue on this machine"]);
  if (error instanceof NoCitus)
    throw new Failure("failed", error.message, [
      "run `create extension citus` in it, and citus_add_node for each node; see docs/team.md",
    ]);
  throw asFailure(error, "the database cannot be used") ?? refused(error);
}

/** PostgreSQL's own words about a wrong name, password or permission. */
function refused(error: unknown): unknown {
  const { code = "" } = error as NodeJS.ErrnoException;
  return /^(?:28|3D|42501)/.test(code)
    ? new Failure(
        "failed",
        `the database refuses: ${(error as Error).message}`,
        ["check the address given to --store"],
        error,
      )
    : error;
}
