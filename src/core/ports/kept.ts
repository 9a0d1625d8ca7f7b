import type { AgentKey } from "../facts/ids.ts";
import type { ManualLink } from "../link/parents.ts";
import type { Outbox } from "./outbox.ts";

/** A stored card. Its stage follows from its threads. */
export interface KeptCard {
  readonly id: string;
  readonly title: string;
  readonly madeAt: number;
  /** When a person moved it back to the first stage. */
  readonly queuedAt: number | null;
  /** In the order in which they were added. */
  readonly threads: readonly AgentKey[];
}

export interface KeptCards {
  /** Oldest first. */
  cards(): readonly KeptCard[];
  /** Adds or replaces it. A thread belongs to one card at most, so it is removed from any other. */
  saveCard(card: KeptCard): void;
  /** False if there was none. */
  removeCard(id: string): boolean;
}

/** A server to follow. Its password is never stored. */
interface KeptRelay {
  readonly id: string;
  readonly provider: string;
  readonly url: string;
}

export interface KeptRelays {
  relays(): readonly KeptRelay[];
  saveRelay(relay: KeptRelay, at: number): void;
  /** False if there was none. */
  removeRelay(id: string): boolean;
}

/** What people decided. Separate from the index, because it cannot be derived again. */
export interface Kept extends KeptCards, KeptRelays {
  links(): readonly ManualLink[];
  /** Replaces an earlier link of the same child. */
  link(link: ManualLink): void;
  /** False if there was none. */
  unlink(child: AgentKey): boolean;
  /** Items to be sent to other services. */
  readonly outbox: Outbox;
  /**
   * Copies everything to another file, which must be empty or missing. Reads every row, so it fails if one is damaged.
   */
  copyInto(path: string): void;
  close(): void;
}
