/** Differences of less than this are of processes that write at the same moment. */
const SET_BACK_MS = 1_000;

/** Times that never fall: after the clock was set back, they go on from the last one. */
export class SteadyClock {
  #offset = 0;
  #last = 0;

  get wasSetBack(): boolean {
    return this.#offset > 0;
  }

  /** The next time, in order. */
  advance(at: number): number {
    const behind = this.#last - (at + this.#offset);
    if (behind >= SET_BACK_MS) this.#offset += behind;
    this.#last = Math.max(this.#last, at + this.#offset);
    return this.#last;
  }

  /** A time after the last one. */
  steady(at: number): number {
    return Math.max(this.#last, at + this.#offset);
  }
}
