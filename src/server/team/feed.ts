import type { OwnerChanges, TeamStore } from "../../app/team/store.ts";
import type { CatalogHealth } from "../../core/ports/catalog.ts";

type Trouble = CatalogHealth["troubles"][number];

/** More changes than this are not sent one by one: the client fetches everything again. */
const MAX_CHANGES = 5_000;
/** Ranges of changes that are kept for other clients of this server, and changes in all of them. */
const KEPT = 64;
const MAX_KEPT_CHANGES = 5_000;
const RETRY_MS = 500;

/**
 * Knows the number of the last shipment of each owner, from notifications of the database. After a cut of the
 * connection it reads the numbers again, so no change is missed.
 */
export class Feed {
  readonly #store: TeamStore;
  readonly #heads = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  readonly #ranges = new Map<string, Range>();
  readonly #checks = new Set<() => void>();
  /** The numbers of shipments that were seen since the last catch-up began. */
  #noted = new Map<string, number>();
  #isCatchingUp = false;
  /** Shipments may have been missed. */
  #isBehind = false;
  #isListening = false;
  #losses = 0;
  #stopped = false;
  #awaySince: string | null = null;

  constructor(store: TeamStore) {
    this.#store = store;
  }

  /** Whether notifications arrive. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** Starts listening; reconnects until it is stopped. */
  async start(): Promise<void> {
    const onShipment = (owner: string, seq: number) => {
      // No client of this server has asked about this owner.
      if (!this.#heads.has(owner)) return;
      this.#rise(owner, seq);
      this.#wake();
    };
    const onListen = () => {
      this.#isListening = true;
      this.#isBehind = true;
      void this.#catchUp();
    };
    const onAccess = () => {
      for (const check of [...this.#checks]) check();
    };
    while (!this.#stopped) {
      try {
        await this.#store.listen({ onShipment, onAccess, onListen });
        return;
      } catch {
        // The database does not respond; requests report that.
        if (!this.#stopped) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  /** The connection ends with the store. */
  stop(): void {
    this.#stopped = true;
    this.#isListening = false;
    this.#wake();
  }

  /** Once at a time: what was read earlier must not replace what was read later. */
  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    while (this.#isBehind) {
      this.#isBehind = false;
      await this.#readHeads();
    }
    this.#isCatchingUp = false;
  }

  async #readHeads(): Promise<void> {
    this.#noted = new Map();
    let seqs: ReadonlyMap<string, number>;
    try {
      seqs = await this.#store.reader.seqs([...this.#heads.keys()]);
    } catch {
      // Cut again; the next connection catches up.
      return;
    }
    let isLost = false;
    for (const [owner, seq] of seqs) {
      const head = Math.max(seq, this.#noted.get(owner) ?? 0);
      isLost ||= head < this.headOf(owner);
      this.#heads.set(owner, head);
    }
    if (isLost) {
      // A replica without the last shipments has become the primary. Their numbers are given to others.
      this.#losses += 1;
      this.#ranges.clear();
    }
    this.#wake();
  }

  /** How often the database has lost shipments, as after a failover to a replica that did not have the last ones. */
  get losses(): number {
    return this.#losses;
  }

  /** The current numbers of these owners, from the database; they are followed from now on. */
  heads(owners: readonly string[]): Promise<Map<string, number>> {
    return this.#follow(owners, (reader) => reader.seqs(owners));
  }

  /** The same, of the primary: for a client that has seen more than a replica has. */
  newestHeads(owners: readonly string[]): Promise<Map<string, number>> {
    return this.#follow(owners, (reader) => reader.newestSeqs(owners));
  }

  async #follow(
    owners: readonly string[],
    read: (reader: TeamStore["reader"]) => Promise<Map<string, number>>,
  ): Promise<Map<string, number>> {
    for (const owner of owners) if (!this.#heads.has(owner)) this.#heads.set(owner, 0);
    const seqs = await read(this.#store.reader);
    for (const [owner, seq] of seqs) this.#rise(owner, seq);
    return seqs;
  }

  #rise(owner: string, seq: number): void {
    for (const seqs of [this.#heads, this.#noted]) seqs.set(owner, Math.max(seq, seqs.get(owner) ?? 0));
  }

  headOf(owner: string): number {
    return this.#heads.get(owner) ?? 0;
  }

  /** Calls back when somebody may see more or less than before, until the signal is aborted. */
  onAccess(check: () => void, until: AbortSignal): void {
    if (until.aborted) return;
    this.#checks.add(check);
    until.addEventListener("abort", () => this.#checks.delete(check), { once: true });
  }

  /** Set while replicas answer and the primary does not. */
  async trouble(): Promise<Trouble | null> {
    try {
      await this.#store.ping();
      this.#awaySince = null;
      return null;
    } catch {
      this.#awaySince ??= new Date().toISOString();
      return {
        code: "primary-away",
        message: "the primary database cannot be used: replicas are read, and shipments wait",
        since: this.#awaySince,
      };
    }
  }

  /** Resolves when some number may have changed. */
  async next(until: AbortSignal): Promise<void> {
    if (until.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        until.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      until.addEventListener("abort", done);
    });
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }

  /** The changes in a range of shipments; null if they are too many. Clients with the same position share the query. */
  changes(owner: string, after: number, to: number): Promise<OwnerChanges | null> {
    const key = `${owner} ${after} ${to}`;
    const known = this.#ranges.get(key);
    if (known !== undefined) return known.changes;
    const changes = this.#store.reader.changes(owner, after, to, MAX_CHANGES);
    const range: Range = { changes, size: 0 };
    this.#ranges.set(key, range);
    this.#dropOldRanges();
    changes.then(
      (found) => {
        range.size = found === null ? 0 : found.agents.length + found.events.length;
        this.#dropOldRanges();
      },
      () => this.#ranges.delete(key),
    );
    return changes;
  }

  /** The newest one stays, however large it is. */
  #dropOldRanges(): void {
    let size = [...this.#ranges.values()].reduce((sum, range) => sum + range.size, 0);
    for (const [key, range] of this.#ranges) {
      if (this.#ranges.size === 1 || (this.#ranges.size <= KEPT && size <= MAX_KEPT_CHANGES)) return;
      size -= range.size;
      this.#ranges.delete(key);
    }
  }
}

interface Range {
  readonly changes: Promise<OwnerChanges | null>;
  /** Number of changes; 0 until they were read. */
  size: number;
}
