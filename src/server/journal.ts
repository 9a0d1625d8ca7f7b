import { randomBytes } from "node:crypto";
import type { AgentKey } from "../core/ids.ts";

export type ChangeType = "agent" | "removed" | "event" | "reset" | "card" | "card-removed" | "troubles";

/** Something that changed, as clients get it, and whom it concerns. */
export interface Change {
  readonly type: ChangeType;
  /** A newer change of the same subject makes this one superfluous; null where every one counts. */
  readonly subject: string | null;
  readonly isThread: boolean;
  /** The agent it happened to, then its parent, and so on up to the thread. */
  readonly chain: readonly AgentKey[];
  /** JSON. */
  readonly data: string;
}

export interface Entry extends Change {
  readonly seq: number;
}

const MAX_ENTRIES = 50_000;
const MAX_CHARS = 8 << 20;

/**
 * What changed, in order, each with a number: whoever knows the last number it got can go on from there, and is told when that is no longer possible.
 * It is bounded: of an agent's records only the last one is kept, and the oldest changes fall out. A slow client costs nothing: it is just further behind.
 */
export class Journal {
  /** Numbers mean something only together with this: another run counts anew. */
  readonly generation = randomBytes(6).toString("hex");
  readonly #limits: { readonly entries: number; readonly chars: number };
  readonly #entries = new Map<string | number, Entry>();
  readonly #waiting = new Set<() => void>();
  #position = 0;
  #floor = 0;
  #chars = 0;

  constructor(limits = { entries: MAX_ENTRIES, chars: MAX_CHARS }) {
    this.#limits = limits;
  }

  get position(): number {
    return this.#position;
  }

  /** Changes up to this one may be missing. */
  get floor(): number {
    return this.#floor;
  }

  idOf(position: number): string {
    return `${this.generation}-${position}`;
  }

  /** Null if the id is not of this journal. */
  positionOf(id: string): number | null {
    const [, generation, digits] = /^([0-9a-f]+)-(\d{1,15})$/.exec(id) ?? [];
    const position = Number(digits);
    return generation === this.generation && position <= this.#position ? position : null;
  }

  append(changes: readonly Change[]): void {
    for (const change of changes) {
      this.#position += 1;
      const key = change.subject ?? this.#position;
      this.#drop(key);
      this.#entries.set(key, { ...change, seq: this.#position });
      this.#chars += change.data.length;
    }
    for (const [key, { seq }] of this.#entries) {
      if (this.#entries.size <= this.#limits.entries && this.#chars <= this.#limits.chars) break;
      this.#floor = seq;
      this.#drop(key);
    }
    if (changes.length > 0) this.wake();
  }

  /** Forgets everything: whoever waits or comes back has to ask anew. */
  clear(): void {
    this.#position += 1;
    this.#floor = this.#position;
    this.#entries.clear();
    this.#chars = 0;
    this.wake();
  }

  #drop(key: string | number) {
    this.#chars -= this.#entries.get(key)?.data.length ?? 0;
    this.#entries.delete(key);
  }

  since(position: number): Entry[] {
    return position >= this.#position ? [] : [...this.#entries.values()].filter(({ seq }) => seq > position);
  }

  /** Has everybody who waits look again. */
  wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  /** Until something is appended; at once if something was, behind this position. */
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
