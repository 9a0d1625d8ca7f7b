import type { Budgets } from "../../stores/postgres/budgets.ts";
import type { Ingest } from "../../stores/postgres/ingest.ts";
import type { Migrated } from "../../stores/postgres/migrate.ts";
import type { Overview } from "../../stores/postgres/overview.ts";
import type { Reader } from "../../stores/postgres/reader.ts";
import type { Tokens } from "../../stores/postgres/tokens.ts";
import { asFailure, Failure } from "../failure.ts";

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
  close(): Promise<void>;
}

/** Opens the database and brings its schema up to date. */
export async function openTeamStore(url: string, connections?: number): Promise<TeamStore> {
  if (!/^postgres(?:ql)?:\/\//.test(url))
    throw new Failure("usage", "--store needs the address of a PostgreSQL database", [
      "write postgres://user@host/database",
    ]);
  // Loaded on demand: only team servers need them.
  const [
    { Budgets },
    { openDatabase },
    { migrate, NewerSchema },
    { CHANNEL },
    { ingester },
    { Overview },
    { Reader },
    { Tokens },
  ] = await Promise.all([
    import("../../stores/postgres/budgets.ts"),
    import("../../stores/postgres/database.ts"),
    import("../../stores/postgres/migrate.ts"),
    import("../../stores/postgres/ingest-statements.ts"),
    import("../../stores/postgres/ingest.ts"),
    import("../../stores/postgres/overview.ts"),
    import("../../stores/postgres/reader.ts"),
    import("../../stores/postgres/tokens.ts"),
  ]);
  const database = await openDatabase(url, connections === undefined ? {} : { connections });
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
      close: () => database.close(),
    };
  } catch (error) {
    await database.close();
    if (error instanceof NewerSchema) throw new Failure("failed", error.message, ["update retinue on this machine"]);
    throw asFailure(error, "the database cannot be used") ?? refused(error);
  }
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
