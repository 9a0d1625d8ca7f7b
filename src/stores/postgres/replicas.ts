import { StoreFault } from "../fault.ts";
import type { Parameter, Queries } from "./database.ts";
import { READER } from "./reader-statements.ts";
import { withTimeout } from "./timeout.ts";

/** A replica that does not answer within this time counts as failed. */
const REPLICA_MS = 10_000;
/** The same for the primary, for small statements. */
export const PRIMARY_MS = 3_000;
/** A replica that failed is not asked again before this time has passed. */
const COOLDOWN_MS = 2_000;
/** A replica that lags behind is asked for its position at most this often, for each owner. */
const CHECK_MS = 50;

interface Replica {
  readonly queries: Queries;
  /** The last shipment of each owner that it is known to have. */
  readonly has: Map<string, number>;
  readonly checkedAt: Map<string, number>;
  coolsDownUntil: number;
}

/** How many statements were answered by whom. */
export interface ReadCounts {
  primary: number;
  replica: number;
}

/**
 * Reads from replicas, and from the primary what they do not have yet. Clients never read an older state than this
 * server has shown: for each owner it knows the highest number of a shipment that it has seen, and a replica without it is not
 * asked. All statements name the owner, or the owners, as `$1`.
 */
export class ReplicatedReads implements Queries {
  readonly #primary: Queries;
  readonly #replicas: readonly Replica[];
  readonly #seen = new Map<string, number>();
  readonly #now: () => number;
  readonly counts: ReadCounts = { primary: 0, replica: 0 };
  #turn = 0;

  constructor(primary: Queries, replicas: readonly Queries[], now: () => number = () => performance.now()) {
    this.#primary = primary;
    this.#now = now;
    this.#replicas = replicas.map((queries) => ({ queries, has: new Map(), checkedAt: new Map(), coolsDownUntil: 0 }));
  }

  /** From now on, what is read about this owner includes this shipment. */
  saw(owner: string, seq: number): void {
    this.#seen.set(owner, Math.max(seq, this.#seen.get(owner) ?? 0));
  }

  async all<Row extends object>(statement: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const [owner] = parameters;
    if (statement === READER.seqs) return (await this.#positions(owner as readonly string[])) as Row[];
    for (const replica of this.#available()) {
      try {
        const current = await Promise.all([owner].flat().map((one) => this.#isCurrent(replica, String(one))));
        if (current.includes(false)) continue;
        const rows = await withTimeout(REPLICA_MS, replica.queries.all<Row>(statement, parameters));
        this.counts.replica += 1;
        return rows;
      } catch {
        this.#coolDown(replica);
      }
    }
    this.counts.primary += 1;
    return this.#primary.all<Row>(statement, parameters);
  }

  /** The positions of a replica if it has all that was seen, otherwise those of the primary. They count as seen. */
  async #positions(owners: readonly string[]): Promise<Position[]> {
    for (const replica of this.#available()) {
      try {
        const rows = await this.#ask(replica, owners);
        if (!owners.every((owner) => this.#hasSeen(replica, owner))) continue;
        for (const { owner, seq } of rows) this.saw(owner, seq);
        this.counts.replica += 1;
        return rows;
      } catch {
        this.#coolDown(replica);
      }
    }
    return this.newest(owners);
  }

  /** The positions of the primary. They count as seen, so what is read afterwards is not older. */
  async newest(owners: readonly string[]): Promise<Position[]> {
    this.counts.primary += 1;
    const rows = await this.#primary.all<Position>(READER.seqs, [owners]);
    for (const { owner, seq } of rows) this.saw(owner, seq);
    return rows;
  }

  async #isCurrent(replica: Replica, owner: string): Promise<boolean> {
    if (this.#hasSeen(replica, owner)) return true;
    const now = this.#now();
    if (now - (replica.checkedAt.get(owner) ?? Number.NEGATIVE_INFINITY) < CHECK_MS) return false;
    replica.checkedAt.set(owner, now);
    await this.#ask(replica, [owner]);
    return this.#hasSeen(replica, owner);
  }

  #hasSeen({ has }: Replica, owner: string): boolean {
    return (has.get(owner) ?? 0) >= (this.#seen.get(owner) ?? 0);
  }

  async #ask({ queries, has }: Replica, owners: readonly string[]): Promise<Position[]> {
    const rows = await withTimeout(REPLICA_MS, queries.all<Position>(READER.seqs, [owners]));
    for (const { owner, seq } of rows) has.set(owner, seq);
    return rows;
  }

  /** Those that may be asked, each first in turn. */
  #available(): Replica[] {
    const now = this.#now();
    this.#turn += 1;
    const from = this.#turn % Math.max(1, this.#replicas.length);
    return [...this.#replicas.slice(from), ...this.#replicas.slice(0, from)].filter(
      ({ coolsDownUntil }) => coolsDownUntil <= now,
    );
  }

  /** It may be away, not have the schema yet, or have cancelled a statement. The primary reports what is a bug. */
  #coolDown(replica: Replica): void {
    replica.coolsDownUntil = this.#now() + COOLDOWN_MS;
    // It may come back from a backup.
    replica.has.clear();
    replica.checkedAt.clear();
  }
}

export interface Position {
  readonly owner: string;
  readonly seq: number;
}

/** Reads small things from the primary, or from a replica while the primary is away. */
export class FallbackReads implements Queries {
  readonly #primary: Queries;
  readonly #replicas: readonly Queries[];
  #isAway = false;
  #triedAt = 0;

  constructor(primary: Queries, replicas: readonly Queries[]) {
    this.#primary = primary;
    this.#replicas = replicas;
  }

  /** Rejects at once if the primary is known to be away, so that requests do not wait for a timeout. */
  async reachable(): Promise<void> {
    if (this.#isAway) throw new StoreFault("unreachable", "the primary database does not answer");
  }

  async all<Row extends object>(statement: string, parameters: readonly Parameter[] = []): Promise<Row[]> {
    if (this.#replicas.length === 0) return this.#primary.all<Row>(statement, parameters);
    if (this.#isAway) this.#tryAgain();
    else
      try {
        return await withTimeout(PRIMARY_MS, this.#primary.all<Row>(statement, parameters));
      } catch (error) {
        if (!(error instanceof StoreFault && error.kind === "unreachable")) throw error;
        this.#isAway = true;
        this.#triedAt = performance.now();
      }
    for (const replica of this.#replicas) {
      try {
        return await withTimeout(REPLICA_MS, replica.all<Row>(statement, parameters));
      } catch {
        // Asks the next one.
      }
    }
    return this.#primary.all<Row>(statement, parameters);
  }

  /** Checks in the background whether the primary is back. */
  #tryAgain(): void {
    const now = performance.now();
    if (now - this.#triedAt < COOLDOWN_MS) return;
    this.#triedAt = now;
    withTimeout(PRIMARY_MS, this.#primary.all("select 1 as one")).then(
      () => {
        this.#isAway = false;
      },
      () => {},
    );
  }
}
