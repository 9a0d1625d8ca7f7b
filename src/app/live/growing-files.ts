/** A file that has changed is polled after this time, then after twice as long, and so on. */
const FIRST_POLL_MS = 50;
/** A file that has not changed for this long is no longer polled. */
const QUIET_MS = 2_000;

interface Growing {
  changedAt: number;
  /** Null if unknown. */
  stamp: string | null;
}

/**
 * Files that were written recently. They are polled, because not every write is notified: some systems notify only
 * when a file is closed. The longer nothing is written, the less often they are polled.
 */
export class GrowingFiles {
  readonly #files = new Map<string, Growing>();
  readonly #stampOf: (path: string) => string | null;
  readonly #now: () => number;
  #pause = FIRST_POLL_MS;
  #nextPollAt = 0;

  /** `stampOf`: changes whenever the file changes; null if that cannot be said. */
  constructor(stampOf: (path: string) => string | null, now: () => number = () => performance.now()) {
    this.#stampOf = stampOf;
    this.#now = now;
  }

  get size(): number {
    return this.#files.size;
  }

  get nextPollAt(): number {
    return this.#nextPollAt;
  }

  /** The file has changed. */
  add(path: string): void {
    const now = this.#now();
    const soon = now + FIRST_POLL_MS;
    // A file that is written all the time must not postpone the poll of the others.
    this.#nextPollAt = this.#files.size === 0 ? soon : Math.min(this.#nextPollAt, soon);
    this.#pause = FIRST_POLL_MS;
    const file = this.#files.get(path) ?? { changedAt: 0, stamp: null };
    file.changedAt = now;
    this.#files.set(path, file);
  }

  /** The files are about to be read; later changes are found by `poll`. */
  read(paths: Iterable<string>): void {
    for (const path of paths) {
      const file = this.#files.get(path);
      if (file !== undefined) file.stamp = this.#stampOf(path);
    }
  }

  /** The files that have changed since they were read, without those that are known to have changed. */
  poll(known: ReadonlySet<string>): readonly string[] {
    const now = this.#now();
    const changed: string[] = [];
    for (const [path, file] of this.#files) {
      if (now - file.changedAt > QUIET_MS) this.#files.delete(path);
      if (known.has(path)) continue;
      const stamp = this.#stampOf(path);
      if (stamp === null || stamp !== file.stamp) changed.push(path);
    }
    this.#pause = changed.length > 0 ? FIRST_POLL_MS : 2 * this.#pause;
    this.#nextPollAt = now + this.#pause;
    return changed;
  }
}
