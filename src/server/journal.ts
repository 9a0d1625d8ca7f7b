import { randomBytes } from "node:crypto";
import type { AgentKey } from "../core/facts/ids.ts";
import type { ChangeType } from "../core/ports/catalog.ts";

/** One change as clients receive it, and the agents it concerns. */
export interface Change {
  readonly type: ChangeType;
  /** A newer change of the same subject replaces this one; null if every change counts. */
  readonly subject: string | null;
  readonly isThread: boolean;
  /** The agent, its parent, and so on up to the thread. */
  readonly chain: readonly AgentKey[];
  /** JSON. */
  readonly data: string;
}

export interface Entry extends Change {
  readonly seq: number;
}

const MAX_ENTRIES = 50_000;
const MAX_CHARS = 4 << 20;

/**
 * Numbered changes, in order. A client continues after the last number it received, or learns that this is no longer
 * possible.
 * Bounded: only the last record of each agent is kept, and the oldest changes are dropped. A slow client needs no
 * buffer of its own.
 */
export class Journal {
  /** Prefix of the ids; positions of another run are not valid here. */
  readonly generation = randomBytes(6).toString("hex");
  readonly #limits: { readonly entries: number; readonly chars: number };
  /** By number, the oldest first. */
  readonly #entries = new Map<number, Entry>();
  /** The number of the newest entry of each subject. */
  readonly #newest = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  /** Number of positions that `since` has visited, for tests. */
  visited = 0;
  #position = 0;
  #floor = 0;
  #chars = 0;

  constructor(limits = { entries: MAX_ENTRIES, chars: MAX_CHARS }) {
    this.#limits = limits;
  }

  get position(): number {
    return this.#position;
  }

  /** Changes up to this position may be missing. */
  get floor(): number {
    return this.#floor;
  }

  idOf(position: number): string {
    return `${this.generation}-${position}`;
  }

  /** Null if the id is not from this journal. */
  positionOf(id: string): number | null {
    const [, generation, digits] = /^([0-9a-f]+)-(\d{1,15})$/.exec(id) ?? [];
    const position = Number(digits);
    return generation === this.generation && position <= this.#position ? position : null;
  }

  append(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#position += 1;
      const older = change.subject === null ? undefined : this.#newest.get(change.subject);
      if (older !== undefined) this.#drop(older);
      this.#entries.set(this.#position, { ...change, seq: this.#position });
      if (change.subject !== null) this.#newest.set(change.subject, this.#position);
      this.#chars += change.data.length;
    }
    for (const seq of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.entries && this.#chars <= this.#limits.chars) break;
      this.#floor = seq;
      this.#drop(seq);
    }
    if (changes.length > 0) this.wake();
  }

  /** Drops all entries. Clients that wait or reconnect get a reset. */
  clear(): void {
    this.#position += 1;
    this.#floor = this.#position;
    this.#entries.clear();
    this.#newest.clear();
    this.#chars = 0;
    this.wake();
  }

  #drop(seq: number) {
    const { data, subject } = this.#entries.get(seq) ?? { data: "", subject: null };
    this.#chars -= data.length;
    this.#entries.delete(seq);
    if (subject !== null) this.#newest.delete(subject);
  }

  /** The changes after a position. Visits only these, however long the journal is. */
  since(position: number): Entry[] {
    // Most changes since then were superseded.
    if (this.#position - position > this.#entries.size)
      return [...this.#entries.values()].filter(({ seq }) => seq > position);
    const found: Entry[] = [];
    for (let seq = Math.max(position, this.#floor) + 1; seq <= this.#position; seq += 1) {
      this.visited += 1;
      const entry = this.#entries.get(seq);
      if (entry !== undefined) found.push(entry);
    }
    return found;
  }

  /** Wakes all waiting clients. */
  wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Resolves when there is an entry after `position`. */
  async after(position: number, until: AbortSignal): Promise<void> {
    if (position < this.#position || until.aborted) return;
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
}
