import type { AgentKey } from "../facts/ids.ts";
import type { ManualLink } from "../link/parents.ts";
import type { Outbox } from "./outbox.ts";

/** A card as it is kept; where it stands follows from its threads. */
export interface KeptCard {
  readonly id: string;
  readonly title: string;
  readonly madeAt: number;
  /** When a person put it back to the beginning. */
  readonly queuedAt: number | null;
  /** In the order in which they were added. */
  readonly threads: readonly AgentKey[];
}

export interface KeptCards {
  /** Oldest first. */
  cards(): readonly KeptCard[];
  /** Adds it, or replaces what is known of it. A thread is in one card at most: it leaves the one that it was in. */
  saveCard(card: KeptCard): void;
  /** False when there was none. */
  removeCard(id: string): boolean;
}

/** A server that is to be followed. Its password is never kept. */
export interface KeptRelay {
  readonly id: string;
  readonly provider: string;
  readonly url: string;
}

export interface KeptRelays {
  relays(): readonly KeptRelay[];
  saveRelay(relay: KeptRelay, at: number): void;
  /** False when there was none. */
  removeRelay(id: string): boolean;
}

/** What people decided. Apart from the index, because it cannot be worked out again. */
export interface Kept extends KeptCards, KeptRelays {
  links(): readonly ManualLink[];
  /** Replaces an earlier link of the same child. */
  link(link: ManualLink): void;
  /** False when there was none. */
  unlink(child: AgentKey): boolean;
  /** What is on its way to services elsewhere. */
  readonly outbox: Outbox;
  /**
   * Writes all of it into another file, which must be empty or not there. Reads every row: fails where one is damaged.
   */
  copyInto(path: string): void;
  close(): void;
}
