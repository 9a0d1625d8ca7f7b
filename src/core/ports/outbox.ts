/** What was sent before under a key. */
export interface Posted {
  readonly key: string;
  readonly place: string;
  /** Its end has not been told yet. */
  readonly isOpen: boolean;
}

export type FindPosted = (key: string) => Posted | undefined;

/** Something to be sent, before it is put in. */
export interface Parcel {
  /** Names what it tells of, for good: a run, a span. */
  readonly key: string;
  /** Where that stands at the destination, in the destination's own words. Two parcels of one key must agree. */
  readonly place: string;
  /** False: it goes on, and another parcel will tell its end. */
  readonly isEnd: boolean;
  /** What is sent together, and retried together: a trace. */
  readonly batch: string;
  /** For people. */
  readonly what: string;
  readonly body: Uint8Array;
}

export interface OutboxItem extends Pick<Parcel, "key" | "batch" | "what" | "body"> {
  readonly id: number;
  readonly at: number;
  readonly attempts: number;
  /** Why the destination does not take it; it is not tried again by itself. */
  readonly refused: string | null;
}

export interface DestinationState {
  readonly name: string;
  /**
   * From when on it is told everything by itself: what ended before is history. Null: it is told only what somebody
   * asks for.
   */
  readonly since: number | null;
  /** Everything up to here was looked at. */
  readonly lookedTo: number;
  /** Nothing is tried before. */
  readonly nextAt: number;
  readonly failures: number;
  /** Why it is waited for. */
  readonly reason: string | null;
  readonly delivered: number;
  readonly deliveredAt: number | null;
  /** What it took and then did not keep, in its own words. */
  readonly turnedDown: string | null;
  readonly holder: string | null;
  /** When somebody last asked for another look. */
  readonly askedAt: number;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly refused: number;
}

export interface PutCount {
  readonly put: number;
  /** Keys of the parcels that were refused. */
  readonly refused: readonly string[];
}

export interface Outbox {
  /** Makes it known. The first `since` counts. */
  open(destination: string, since: number | null): void;
  destinations(): readonly DestinationState[];
  /**
   * All or nothing. `choose` is told what was put in before. A parcel that repeats or contradicts what was put in
   * before is refused; `thread` is whose `stillOpen` finds what has no end yet.
   */
  put(destination: string, thread: string, choose: (find: FindPosted) => readonly Parcel[], at: number): PutCount;
  /** What was put in for a thread and has not been ended. */
  stillOpen(destination: string, thread: string): readonly Posted[];
  /** The oldest that wait, all of one batch; of what begins and ends, never both. */
  next(destination: string, limit: { readonly items: number; readonly bytes: number }): readonly OutboxItem[];
  items(destination: string, limit: number): readonly OutboxItem[];
  arrived(destination: string, ids: readonly number[], at: number, turnedDown: string | null): void;
  refuse(id: number, reason: string): void;
  /** It cannot be reached, or does not want anything now. */
  postpone(destination: string, ids: readonly number[], nextAt: number, reason: string): void;
  /** Refused ones are tried again, and nobody is waited for. Says how many were refused. */
  retry(destination: string): number;
  /** Throws away what was refused. Says how many. */
  drop(destination: string): number;
  bytes(): number;
  /** Whoever holds a destination looks after it alone. False if another does, as far as `isAlive` tells. */
  hold(destination: string, holder: string, now: number, until: number, isAlive: (holder: string) => boolean): boolean;
  /** Asks whoever holds it to look once more. */
  ask(destination: string, at: number): void;
  /** False, and still held, if somebody asked after `since`. True where it is no longer held by that one anyway. */
  release(destination: string, holder: string, since: number): boolean;
  lookedTo(destination: string, at: number): void;
  unfinished(destination: string): readonly string[];
  setUnfinished(destination: string, thread: string, isUnfinished: boolean): void;
  /** What is unfinished or open in a thread is so in another one from now on. */
  moved(destination: string, from: string, to: string): void;
}
