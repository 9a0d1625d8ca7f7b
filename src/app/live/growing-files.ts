/** A file whose changes are not notified is polled after this time, then after twice as long, and so on. */
const FIRST_POLL_MS = 100;
/** The same while all changes are notified. */
const FIRST_POLL_NOTIFIED_MS = 400;
/** A file that has not changed for this long is no longer polled. */
const QUIET_MS = 2_000;
/** Number of notified changes after which notifications are trusted again, if a change was found by polling. */
const ENOUGH_NOTIFIED = 3;

/** Files that are polled at the same time. More are a copy of a folder rather than agents at work. */
const MAX_FILES = 1_000;

interface Growing {
  changedAt: number;
  /** As of the last reading; null if unknown. */
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
  /** Number of notified changes until notifications are trusted again. */
  #missing = 0;

  /** `stampOf` returns a value that changes whenever the file changes; null if the file cannot be checked. */
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

  /** A change of the file was notified. */
  notified(path: string): void {
    this.#missing = Math.max(0, this.#missing - 1);
    this.#add(path);
  }

  /** The files are about to be read; later changes are found by `poll`. */
  reading(paths: Iterable<string>): void {
    for (const path of paths) {
      const file = this.#files.get(path);
      if (file !== undefined) file.stamp = this.#stampOf(path);
    }
  }

  /** The files were read and had changed. */
  changed(paths: Iterable<string>): void {
    for (const path of paths) this.#add(path);
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
    if (changed.length > 0) this.#missing = ENOUGH_NOTIFIED;
    this.#pause = changed.length > 0 ? FIRST_POLL_MS : 2 * this.#pause;
    this.#nextPollAt = now + this.#pause;
    return changed;
  }

  #add(path: string): void {
    if (this.#files.size >= MAX_FILES && !this.#files.has(path)) return;
    const now = this.#now();
    this.#pause = this.#missing > 0 ? FIRST_POLL_MS : FIRST_POLL_NOTIFIED_MS;
    const soon = now + this.#pause;
    const file = this.#files.get(path);
    // A file that is written all the time must not postpone the poll of the others.
    const isAlone = this.#files.size === 0 || (this.#files.size === 1 && file !== undefined);
    this.#nextPollAt = isAlone ? soon : Math.min(this.#nextPollAt, soon);
    this.#files.set(path, { stamp: file?.stamp ?? null, changedAt: now });
  }
}
