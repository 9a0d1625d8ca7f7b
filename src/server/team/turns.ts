/** Lets a limited number of requests work, in order of arrival. */
export class Turns {
  readonly #atOnce: number;
  readonly #maxWaiting: number;
  readonly #queue: (() => void)[] = [];
  #working = 0;

  constructor(atOnce: number, maxWaiting: number) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** Null if too many wait. `done` must be called in any case. */
  enter(): { readonly turn: Promise<void>; readonly done: () => void } | null {
    if (this.#queue.length >= this.#maxWaiting) return null;
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    this.#queue.push(resolve);
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
    try {
      await entered.turn;
      return await work();
    } finally {
      entered.done();
    }
  }

  #next(): void {
    while (this.#working < this.#atOnce) {
      const start = this.#queue.shift();
      if (start === undefined) return;
      this.#working += 1;
      start();
    }
  }
}
