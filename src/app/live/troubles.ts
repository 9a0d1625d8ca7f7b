/** Something that the server cannot do at the moment. */
export interface Trouble {
  readonly code: TroubleCode;
  /** What cannot be done, why, and what happens instead. */
  readonly message: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

export type TroubleCode =
  | "not-up-to-date"
  | "index-unusable"
  | "polling"
  | "not-announced"
  | "catching-up"
  | "sessions-not-recorded";

/** The current troubles. */
export class Troubles {
  readonly #now = new Map<TroubleCode, Trouble>();
  readonly #onChange: (all: readonly Trouble[]) => void;

  constructor(onChange: (all: readonly Trouble[]) => void = () => {}) {
    this.#onChange = onChange;
  }

  get list(): readonly Trouble[] {
    return [...this.#now.values()];
  }

  /** Null if it has ended. */
  set(code: TroubleCode, message: string | null, since = Date.now()): void {
    const before = this.#now.get(code);
    if ((before?.message ?? null) === message) return;
    if (message === null) this.#now.delete(code);
    else this.#now.set(code, { code, message, since: before?.since ?? since });
    this.#onChange(this.list);
  }
}
