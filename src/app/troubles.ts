/** Something that cannot be done at the moment. */
export interface Trouble {
  readonly code: TroubleCode;
  /** What cannot be done, why, and what is done instead. */
  readonly message: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

export type TroubleCode = "not-up-to-date" | "index-unusable" | "polling" | "not-announced";

/** What cannot be done at the moment; empty when all is well. */
export class Troubles {
  readonly #now = new Map<TroubleCode, Trouble>();

  get list(): readonly Trouble[] {
    return [...this.#now.values()];
  }

  /** Null: it is over. */
  set(code: TroubleCode, message: string | null): void {
    if (message === null) this.#now.delete(code);
    else this.#now.set(code, { code, message, since: this.#now.get(code)?.since ?? Date.now() });
  }
}
