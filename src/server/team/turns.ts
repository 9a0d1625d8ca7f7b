/** Shipments that are unpacked and stored at once: each may take 64 MB. */
const AT_ONCE = 4;
/** Senders beyond these are asked to come back, so that waiting ones take little memory. */
const MAX_WAITING = 1_000;

/** Lets a limited number of requests work, in order of arrival. */
export class Turns {
  readonly #queue: (() => void)[] = [];
  #working = 0;

  get waiting(): number {
    return this.#queue.length;
  }

  /** Null if too many wait. `done` must be called in any case. */
  enter(): { readonly turn: Promise<void>; readonly done: () => void } | null {
    if (this.#queue.length >= MAX_WAITING) return null;
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    this.#queue.push(resolve);
    this.#next();
    const done = () => {
      this.#working -= 1;
      this.#next();
    };
    return { turn, done };
  }

  #next(): void {
    while (this.#working < AT_ONCE) {
      const start = this.#queue.shift();
      if (start === undefined) return;
      this.#working += 1;
      start();
    }
  }
}
