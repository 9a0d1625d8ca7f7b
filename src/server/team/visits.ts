import type { AgentPlace, Tokens } from "../../app/team/store.ts";

/** What a request showed: a thread, a list with threads of an owner, or everything that its viewer may see (null). */
export type Seen = { readonly owner: string; readonly thread: AgentPlace["thread"] | null } | null;

/** Owners of one list that are noted one by one. */
const MAX_NOTED = 10;

/** Notes whose threads a list shows; those of many as of everybody. Returns these owners, each once. */
export function noteOwners(shown: readonly { readonly owner: string }[], note: (seen: Seen) => void): string[] {
  const owners = [...new Set(shown.map(({ owner }) => owner))];
  if (owners.length > MAX_NOTED) note(null);
  else for (const owner of owners) note({ owner, thread: null });
  return owners;
}

export type Visit = Parameters<Tokens["audit"]>[0];

/** Visits that repeat an earlier one within this time are not logged again. */
const REPEAT_MS = 600_000;
/** Visits that are remembered; those that are forgotten are logged again. */
const MAX_REMEMBERED = 10_000;

/** Writes visits into the audit log, each once in a while: a page asks for the same thread many times. */
export class Visits {
  readonly #write: (visit: Visit) => Promise<void>;
  readonly #onError: (error: unknown) => void;
  readonly #now: () => number;
  /** When each was logged; the oldest first. */
  readonly #logged = new Map<string, number>();

  constructor(write: (visit: Visit) => Promise<void>, onError: (error: unknown) => void, now: () => number = Date.now) {
    this.#write = write;
    this.#onError = onError;
    this.#now = now;
  }

  note(visit: Visit): void {
    const { token, owner, action, subject, threadOwner } = visit;
    const key = JSON.stringify([token, owner, action, subject, threadOwner]);
    const now = this.#now();
    const before = this.#logged.get(key);
    if (before !== undefined && now - before < REPEAT_MS) return;
    this.#logged.delete(key);
    this.#logged.set(key, now);
    for (const oldest of this.#logged.keys()) {
      if (this.#logged.size <= MAX_REMEMBERED) break;
      this.#logged.delete(oldest);
    }
    this.#write(visit).catch((error: unknown) => {
      this.#logged.delete(key);
      this.#onError(error);
    });
  }
}
