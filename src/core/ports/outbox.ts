/** An item that was put in before. */
export interface Posted {
  readonly key: string;
  readonly place: string;
  /** Its end has not been put in yet. */
  readonly isOpen: boolean;
}

export type FindPosted = (key: string) => Posted | undefined;

/** An item to be put in. */
export interface Parcel {
  /** The permanent id of what it describes: a run, a span. */
  readonly key: string;
  /** Its place at the destination, in the destination's own format. All items of one key must agree. */
  readonly place: string;
  /** False: another item with the same key will follow when it ends. */
  readonly isEnd: boolean;
  /** Items that are sent and retried together: a trace. */
  readonly batch: string;
  /** A description for people. */
  readonly what: string;
  readonly body: Uint8Array;
}

export interface OutboxItem extends Pick<Parcel, "key" | "batch" | "what" | "body"> {
  readonly id: number;
  readonly at: number;
  readonly attempts: number;
  /** Why the destination refused it; it is not retried automatically. */
  readonly refused: string | null;
}

export interface DestinationState {
  readonly name: string;
  /**
   * Threads that end after this time are sent automatically. Null: only what the user exports.
   */
  readonly since: number | null;
  /** Activity up to this time was processed. */
  readonly lookedTo: number;
  /** Time of the next attempt. */
  readonly nextAt: number;
  readonly failures: number;
  /** Why items wait. */
  readonly reason: string | null;
  readonly delivered: number;
  readonly deliveredAt: number | null;
  /** The destination's message about items that it accepted and then rejected. */
  readonly turnedDown: string | null;
  readonly holder: string | null;
  /** When another pass was last requested. */
  readonly askedAt: number;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly refused: number;
}

interface PutCount {
  readonly put: number;
  /** Keys of the refused items. */
  readonly refused: readonly string[];
}

export interface Outbox {
  /** Registers a destination. The first `since` counts. */
  open(destination: string, since: number | null): void;
  destinations(): readonly DestinationState[];
  /**
   * Puts in all items that `choose` returns, in one transaction. An item that repeats or contradicts an earlier one is
   * refused. `stillOpen` finds items without an end by `thread`.
   */
  put(destination: string, thread: string, choose: (find: FindPosted) => readonly Parcel[], at: number): PutCount;
  /** Items of a thread without an end. */
  stillOpen(destination: string, thread: string): readonly Posted[];
  /** The oldest waiting items of one batch; never a beginning together with its end. */
  next(destination: string, limit: { readonly items: number; readonly bytes: number }): readonly OutboxItem[];
  items(destination: string, limit: number): readonly OutboxItem[];
  /** `more`: how many more arrived that were never put in. */
  arrived(destination: string, ids: readonly number[], at: number, turnedDown: string | null, more?: number): void;
  refuse(id: number, reason: string): void;
  /** The destination is unreachable or asks to wait. */
  postpone(destination: string, ids: readonly number[], nextAt: number, reason: string): void;
  /** Retries refused and waiting items now. Returns the number of refused ones. */
  retry(destination: string): number;
  /** Deletes refused items. Returns their number. */
  drop(destination: string): number;
  bytes(): number;
  /** Locks a destination for one process. False if another live process holds it. */
  hold(destination: string, holder: string, now: number, until: number, isAlive: (holder: string) => boolean): boolean;
  /** Requests another pass from the holder. */
  ask(destination: string, at: number): void;
  /** Releases the lock, unless another pass was requested after `since`: then returns false. */
  release(destination: string, holder: string, since: number): boolean;
  /** Activity up to this time was processed. */
  setLookedTo(destination: string, at: number): void;
  unfinished(destination: string): readonly string[];
  setUnfinished(destination: string, thread: string, isUnfinished: boolean): void;
  /** Moves what is unfinished or open from one thread to another. */
  moved(destination: string, from: string, to: string): void;
}
