/** Too many wait, and another one that was served less recently took this place. */
export class Displaced extends Error {}

interface Waiting {
  readonly start: () => void;
  readonly refuse: (error: Displaced) => void;
  /** When its client was last served; 0 if never. */
  readonly served: number;
}

/** Clients whose last turn is remembered. */
const MAX_KNOWN = 10_000;

/**
 * Lets a limited number of requests work, in order of arrival. If too many wait, those are refused whose clients were
 * served most recently: clients that send one request after another do not keep others out.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #maxWaiting: number;
  readonly #queue: Waiting[] = [];
  /** By client: the number of its last turn; the oldest first. */
  readonly #served = new Map<string, number>();
  #turns = 0;
  #working = 0;

  constructor(atOnce: number, maxWaiting: number) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Null if too many wait. `turn` may reject with `Displaced`; after it resolved, `done` must be called. */
  enter(client = ""): { readonly turn: Promise<void>; readonly done: () => void } | null {
    const served = this.#served.get(client) ?? 0;
    if (this.#queue.length >= this.#maxWaiting && !this.#displace(served)) return null;
    const { promise: turn, resolve, reject } = Promise.withResolvers<void>();
    const start = () => {
      this.#remember(client);
      resolve();
    };
    this.#queue.push({ start, refuse: reject, served });
    this.#next();
    const done = () => {
      this.#working -= 1;
      this.#next();
    };
    return { turn, done };
  }

  /** Waits for a turn. */
  async take<T>(work: () => Promise<T>): Promise<T> {
    const entered = this.enter();
    if (entered === null) throw new Error("too many wait");
    await entered.turn;
    try {
      return await work();
    } finally {
      entered.done();
    }
  }

  /** Refuses the one whose client was served last, if that was after this time. */
  #displace(served: number): boolean {
    const last = this.#queue.reduce((a, b) => (b.served >= a.served ? b : a));
    if (last.served <= served) return false;
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

  #next(): void {
    while (this.#working < this.#atOnce) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#working += 1;
      next.start();
    }
  }
}
