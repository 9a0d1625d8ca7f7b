import type { AgentKey } from "../facts/ids.ts";

/** What a team server has acknowledged about one agent: hashes of what was sent. */
export interface AgentShipped {
  readonly record: number;
  /** Number of events. */
  readonly events: number;
  /** The server may have others after them: a shipment was not acknowledged. */
  readonly hasMore?: boolean;
  /** The chained hash after each `LIST_PART` events. */
  readonly marks: readonly number[];
  /** The chained hash after each event since the last mark. */
  readonly recent: readonly number[];
  /** A hash of each part of the list. */
  readonly spans: readonly number[];
  readonly calls: readonly number[];
  /** By the name of the detail. */
  readonly details: Readonly<Record<string, number>>;
}

export interface ThreadShipped {
  readonly uri: string;
  /** The state of the thread's facts and of the settings when it was sent completely; empty if it never was. */
  readonly stamp: string;
  /** Compare it again even if the stamp is the same: it was running, or its log was sent as it grew. */
  readonly isOpen: boolean;
  /** As it was when it was last sent completely; null if it never was. */
  readonly sent: ThreadSent | null;
  /** Why the server does not accept it; null if it does. */
  readonly refused: ThreadRefused | null;
}

/** A thread with a document that the server will not accept. The others are sent without it. */
export interface ThreadRefused {
  /** The state of the thread's facts and of the settings. */
  readonly stamp: string;
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What decides whether the server keeps a thread whose transcripts are deleted on this machine. */
export interface ThreadSent {
  readonly key: AgentKey;
  /** Whether its top-level agent had a transcript. */
  readonly hasTranscript: boolean;
  /** Stands for the redaction rules. */
  readonly rules: string;
  readonly cwd: string | null;
  /** Epoch milliseconds of its last record. */
  readonly activeAt: number;
}

/** What one shipment contained, to be recorded when it was acknowledged. */
export interface Acknowledged {
  readonly documents: number;
  readonly bytes: number;
  readonly at: number;
  readonly agents: readonly { readonly thread: string; readonly uri: string; readonly state: AgentShipped | null }[];
  /** Null: the thread is gone, with all of its agents. */
  readonly threads: readonly { readonly uri: string; readonly state: ThreadComplete | null }[];
}

/** A thread of which everything was sent. */
export type ThreadComplete = Pick<ThreadShipped, "stamp" | "isOpen" | "sent">;

/** What one shipment may have changed if it is not acknowledged. Recorded before it is sent. */
interface Attempted {
  /** What remains certain; see `inDoubt`. */
  readonly agents: readonly { readonly thread: string; readonly uri: string; readonly state: AgentShipped }[];
  /** Threads that it removes as a whole. */
  readonly removed: readonly string[];
}

/** The stamp of a thread whose removal was not acknowledged. */
export const REMOVING = "removing";
/** The stamp of a thread of which it is not known what the server has: it has lost shipments. */
export const LOST = "lost";

export interface ShippedTotals {
  readonly shipments: number;
  readonly documents: number;
  readonly bytes: number;
  /** Of the last acknowledgement. */
  readonly at: number | null;
}

/**
 * The positions that team servers have acknowledged, by destination. It contains no content, so it stays small. If it
 * is lost, everything is sent again, which changes nothing at the server.
 */
export interface Shipped {
  threads(destination: string): readonly ThreadShipped[];
  thread(destination: string, uri: string): ThreadShipped | null;
  agents(destination: string, thread: string): ReadonlyMap<string, AgentShipped>;
  agent(destination: string, thread: string, uri: string): AgentShipped | undefined;
  totals(destination: string): ShippedTotals;
  /**
   * Reserves this many revisions and returns the first. Durable when it returns, and never less than a time-based
   * minimum, so that revisions also grow after the file was lost or restored.
   */
  reserve(destination: string, count: number, least: number): number;
  /**
   * The server reports the number of this machine's last shipment, and the owner of the token if it says so. Returns
   * false if the number is not higher than the one before, because the server has lost shipments, such as after a
   * restored backup, or if the owner is another one. Then no position is certain: all threads get the stamp `LOST`.
   */
  arrived(destination: string, number: number, owner?: string | null): boolean;
  /**
   * The server asks for these threads as a whole, because it has another machine's copy of them, or none. They are
   * replaced by the next shipments. Returns how many of them were not about to be replaced already.
   */
  resend(destination: string, threads: readonly string[]): number;
  /** After an attempt: the server does not accept the thread. It stays set aside until it was sent completely. */
  setAside(destination: string, uri: string, refused: ThreadRefused): void;
  /**
   * Before a shipment is sent: the server may have stored it, or not, until it is acknowledged. The stamps of its threads
   * become invalid. One transaction.
   */
  attempt(destination: string, what: Attempted): void;
  /** One transaction. */
  acknowledge(destination: string, what: Acknowledged): void;
  close(): void;
}
