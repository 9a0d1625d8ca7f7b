/** Too many wait, and another one that was served less recently took this place. */
export class Displaced extends Error {}

interface Waiting {
  readonly client: string;
  readonly start: () => void;
  readonly refuse: (error: Displaced) => void;
}

export interface TurnLimits {
  /** Requests that work at once. */
  readonly atOnce: number;
  readonly maxWaiting: number;
  /** How many of these places one client may have; all of them if omitted. */
  readonly ofOneClient?: { readonly atOnce: number; readonly maxWaiting: number };
}

/** Clients whose last turn is remembered. */
const MAX_KNOWN = 10_000;

/**
 * Lets a limited number of requests work. The next turn is of the client with the fewest requests at work, then of the
 * one that was served least recently, then in order of arrival. If too many wait, those are refused whose clients were
 * served most recently. So a client that sends many requests, or slow ones, does not keep others out.
 */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #queue: Waiting[] = [];
  /** By client: the number of its last turn; the oldest first. */
  readonly #served = new Map<string, number>();
  /** Requests at work, by client. */
  readonly #working = new Map<string, number>();
  #turns = 0;
  #atWork = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Null if too many wait. `turn` may reject with `Displaced`; after it resolved, `done` must be called. */
  enter(client: string): { readonly turn: Promise<void>; readonly done: () => void } | null {
    const { maxWaiting, ofOneClient } = this.#limits;
    if (ofOneClient !== undefined && this.#waitingOf(client) >= ofOneClient.maxWaiting) return null;
    if (this.#queue.length >= maxWaiting && !this.#displace(client)) return null;
    const { promise: turn, resolve, reject } = Promise.withResolvers<void>();
    this.#queue.push({ client, start: resolve, refuse: reject });
    this.#next();
    const done = () => {
      this.#count(client, -1);
      this.#next();
    };
    return { turn, done };
  }

  /** Waits for a turn. */
  async take<T>(client: string, work: () => Promise<T>): Promise<T> {
    const entered = this.enter(client);
    if (entered === null) throw new Displaced("too many wait");
    await entered.turn;
    try {
      return await work();
    } finally {
      entered.done();
    }
  }

  #waitingOf = (client: string) => this.#queue.filter((one) => one.client === client).length;
  #servedAt = (client: string) => this.#served.get(client) ?? 0;
  #workOf = (client: string) => this.#working.get(client) ?? 0;

  /** Refuses the one whose client was served last, if that was after this client. */
  #displace(client: string): boolean {
    const last = this.#queue.reduce((a, b) => (this.#servedAt(b.client) >= this.#servedAt(a.client) ? b : a));
    if (this.#servedAt(last.client) <= this.#servedAt(client)) return false;
    this.#queue.splice(this.#queue.indexOf(last), 1);
    last.refuse(new Displaced());
    return true;
  }

  #remember(client: string): void {
    this.#turns += 1;
    this.#served.delete(client);
    this.#served.set(client, this.#turns);
    for (const oldest of this.#served.keys()) {
      if (this.#served.size <= MAX_KNOWN) break;
      this.#served.delete(oldest);
    }
  }

  #count(client: string, change: 1 | -1): void {
    this.#atWork += change;
    const left = this.#workOf(client) + change;
    if (left === 0) this.#working.delete(client);
    else this.#working.set(client, left);
  }

  #next(): void {
    while (this.#atWork < this.#limits.atOnce) {
      const next = this.#chosen();
      if (next === undefined) return;
      this.#queue.splice(this.#queue.indexOf(next), 1);
      this.#count(next.client, 1);
      this.#remember(next.client);
      next.start();
    }
  }

  /** Whose turn is next; undefined if all that wait are of clients that have all their places. */
  #chosen(): Waiting | undefined {
    const most = this.#limits.ofOneClient?.atOnce ?? Number.POSITIVE_INFINITY;
    let chosen: Waiting | undefined;
    for (const one of this.#queue)
      if (this.#workOf(one.client) < most && (chosen === undefined || this.#isBefore(one.client, chosen.client)))
        chosen = one;
    return chosen;
  }

  #isBefore(client: string, other: string): boolean {
    const more = this.#workOf(client) - this.#workOf(other);
    return more === 0 ? this.#servedAt(client) < this.#servedAt(other) : more < 0;
  }
}
