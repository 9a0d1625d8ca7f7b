import type { OwnerChanges, TeamStore } from "../../app/team/store.ts";

/** More changes than this are not sent one by one: the client fetches everything again. */
const MAX_CHANGES = 5_000;
/** Ranges of changes that are kept for other clients of this server. */
const KEPT = 64;
const RETRY_MS = 500;

/**
 * Knows the number of the last shipment of each owner, from notifications of the database. After a cut of the
 * connection it reads the numbers again, so no change is missed.
 */
export class Feed {
  readonly #store: TeamStore;
  readonly #heads = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  readonly #ranges = new Map<string, Promise<OwnerChanges | null>>();
  #isListening = false;
  #unlisten: (() => Promise<void>) | null = null;
  #stopped = false;

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
      this.#heads.set(owner, Math.max(seq, this.#heads.get(owner) ?? 0));
      this.#wake();
    };
    const onListen = () => {
      this.#isListening = true;
      void this.#catchUp();
    };
    while (!this.#stopped && this.#unlisten === null) {
      try {
        this.#unlisten = await this.#store.listen(onShipment, onListen);
      } catch {
        // The database does not respond; requests report that.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#isListening = false;
    this.#wake();
    await this.#unlisten?.();
  }

  async #catchUp(): Promise<void> {
    try {
      for (const [owner, seq] of await this.#store.reader.seqs([...this.#heads.keys()])) this.#heads.set(owner, seq);
    } catch {
      // Cut again; the next connection catches up.
      return;
    }
    this.#wake();
  }

  /** The current numbers of these owners, from the database; they are followed from now on. */
  async heads(owners: readonly string[]): Promise<Map<string, number>> {
    for (const owner of owners) if (!this.#heads.has(owner)) this.#heads.set(owner, 0);
    const seqs = await this.#store.reader.seqs(owners);
    for (const [owner, seq] of seqs) this.#heads.set(owner, Math.max(seq, this.#heads.get(owner) ?? 0));
    return seqs;
  }

  headOf(owner: string): number {
    return this.#heads.get(owner) ?? 0;
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
    if (known !== undefined) return known;
    const range = this.#store.reader.changes(owner, after, to, MAX_CHANGES);
    this.#ranges.set(key, range);
    range.catch(() => this.#ranges.delete(key));
    for (const oldest of this.#ranges.keys()) {
      if (this.#ranges.size <= KEPT) break;
      this.#ranges.delete(oldest);
    }
    return range;
  }
}
