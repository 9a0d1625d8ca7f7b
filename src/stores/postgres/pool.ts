import { StoreFault } from "../fault.ts";
import { postgresFault } from "./fault.ts";
import type { Link } from "./link.ts";

export interface PoolOptions {
  /** Largest number of connections. */
  readonly max: number;
  /** A connection that was not used for so long is closed. */
  readonly idleMs: number;
  /** A connection is closed after some time between this and twice as much, so that a server's memory is bounded. */
  readonly lifeMs: number;
}

/** How long a connection is used, and by how many statements at the moment. */
interface Usage {
  readonly wornAt: number;
  users: number;
}

interface Waiting {
  /** Grows from one to the next. */
  readonly number: number;
  /** It may use a connection together with others. */
  readonly isShared: boolean;
  readonly resolve: (link: Link) => void;
  readonly reject: (error: unknown) => void;
}

/** Statements that share a connection, at most. */
const BATCH = 50;

/**
 * Lends each connection to one transaction at a time, or to several statements if many wait: then these are sent
 * together, which takes half the time. (The pool of the package `pg` is not used: it leaves waiting statements
 * unanswered when it is closed, keeps the socket of a failed login, and knows only one host.)
 */
export class Pool {
  readonly #open: (until: AbortSignal) => Promise<Link>;
  readonly #options: PoolOptions;
  readonly #links = new Map<Link, Usage>();
  readonly #idle = new Map<Link, NodeJS.Timeout>();
  readonly #waiting: Waiting[] = [];
  readonly #closed = new AbortController();
  #opening = 0;
  /** How many have waited. */
  #waited = 0;

  constructor(open: (until: AbortSignal) => Promise<Link>, options: PoolOptions) {
    this.#open = open;
    this.#options = options;
  }

  /** Lends a connection for a statement. */
  share<T>(work: (link: Link) => Promise<T>): Promise<T> {
    return this.#lent(true, work);
  }

  /** Lends a connection for several statements, to which nobody else adds any. */
  use<T>(work: (link: Link) => Promise<T>): Promise<T> {
    return this.#lent(false, work);
  }

  async #lent<T>(isShared: boolean, work: (link: Link) => Promise<T>): Promise<T> {
    const link = await this.#acquire(isShared);
    try {
      return await work(link);
    } finally {
      this.#release(link);
    }
  }

  async #acquire(isShared: boolean): Promise<Link> {
    if (this.#closed.signal.aborted) throw closed();
    // The one used last: others become old enough to be closed.
    const link = [...this.#idle.keys()].findLast(({ isUsable }) => isUsable);
    if (link !== undefined) {
      this.#take(link);
      this.#count(link, 1);
      return link;
    }
    return new Promise((resolve, reject) => {
      this.#waited += 1;
      this.#waiting.push({ number: this.#waited, isShared, resolve, reject });
      this.#grow();
    });
  }

  #release(link: Link): void {
    if (this.#count(link, -1) > 0 || !link.isOpen) return;
    const isWorn = !link.isUsable || performance.now() > (this.#links.get(link)?.wornAt ?? 0);
    if (isWorn || this.#closed.signal.aborted) link.end();
    else this.#lend(link);
  }

  /** Gives a free connection to those who wait longest, or keeps it. */
  #lend(link: Link): void {
    const batch = this.#next();
    if (batch.length === 0) this.#idle.set(link, setTimeout(() => link.end(), this.#options.idleMs).unref());
    this.#count(link, batch.length);
    for (const { resolve } of batch) resolve(link);
  }

  /** One transaction, or as many statements as there would be for each connection. */
  #next(): Waiting[] {
    const size = Math.min(BATCH, Math.ceil(this.#waiting.length / this.#options.max));
    const other = this.#waiting.findIndex(({ isShared }, at) => !isShared || at === size);
    return this.#waiting.splice(0, Math.max(1, other === -1 ? size : other));
  }

  #count(link: Link, change: number): number {
    const usage = this.#links.get(link);
    if (usage !== undefined) usage.users += change;
    return usage?.users ?? 0;
  }

  #take(link: Link): void {
    clearTimeout(this.#idle.get(link));
    this.#idle.delete(link);
  }

  /** Opens a connection if somebody waits for whom none is opened yet. */
  #grow(): void {
    if (this.#opening >= this.#waiting.length || this.#links.size + this.#opening >= this.#options.max) return;
    this.#opening += 1;
    const newest = this.#waited;
    this.#open(this.#closed.signal).then(
      (link) => {
        this.#opening -= 1;
        const lifeMs = this.#options.lifeMs * (1 + Math.random());
        this.#links.set(link, { wornAt: performance.now() + lifeMs, users: 0 });
        void link.lost.then(() => this.#forget(link));
        if (this.#closed.signal.aborted) link.destroy();
        else this.#lend(link);
      },
      (error: unknown) => {
        this.#opening -= 1;
        for (const { reject } of this.#inVain(error, newest)) reject(error);
      },
    );
  }

  /**
   * Who does not wait any longer because no connection could be opened. The others wait for those that are open. Those
   * that came after the attempt began (`newest`) do not fail for it: it may have taken long because a pooler has no
   * more connections, while those that are open work.
   */
  #inVain(error: unknown, newest: number): Waiting[] {
    if (this.#links.size === 0) return this.#waiting.splice(0);
    const [first] = this.#waiting;
    const isOlder = first !== undefined && first.number <= newest;
    return this.#waiting.splice(0, isOlder && postgresFault(error) !== "busy" ? 1 : 0);
  }

  #forget(link: Link): void {
    this.#links.delete(link);
    this.#take(link);
    // If the server has closed one, it has closed others, too, or does not know them after a failover.
    if (!link.isEnding) for (const other of this.#idle.keys()) other.end();
    this.#grow();
  }

  /** Work that runs gets this long to end. What waits for a connection fails. */
  async close(graceMs: number): Promise<void> {
    this.#closed.abort();
    for (const { reject } of this.#waiting.splice(0)) reject(closed());
    for (const link of this.#idle.keys()) link.end();
    const links = [...this.#links.keys()];
    const timer = setTimeout(() => {
      for (const link of links) link.destroy();
    }, graceMs);
    await Promise.all(links.map(({ lost }) => lost));
    clearTimeout(timer);
  }
}

const closed = () => new StoreFault("unreachable", "the database was closed");
