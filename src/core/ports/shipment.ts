import type { AgentRecord } from "../views/agent.ts";
import type { AgentEvent } from "../views/event.ts";
import type { Message } from "../views/messages.ts";
import type { SharedCall, SharedReport } from "../views/shared-tree.ts";
import type { Span } from "../views/span.ts";
import type { SpentRow } from "../views/stats.ts";
import type { Why } from "../views/why.ts";

/** The first line of a shipment. */
export interface ShipmentHead {
  readonly schema: "retinue/shipment@1";
  /** Identifies the retinue home that sends. */
  readonly machine: string;
  /** The sender's version of retinue. */
  readonly version: string;
}

/**
 * What a machine sends to a team server, one document per line. Redacted by the sender. Documents can be applied in any
 * order and any number of times: of two documents about the same thing, the one with the higher revision counts.
 */
export type ShipmentDocument =
  | AgentDocument
  | RemovedDocument
  | EventDocument
  | EventsFromDocument
  | ListDocument
  | DetailDocument;

interface About {
  /** The URI of the top-level thread. An agent belongs to one thread; if it moves, it is removed from the old one. */
  readonly thread: string;
  /** Only grows on one machine. */
  readonly revision: number;
}

export interface AgentDocument extends About {
  readonly is: "agent";
  readonly uri: string;
  readonly parent: string | null;
  /** Position among its siblings. */
  readonly place: number;
  /** `durationMs` of a running agent is null, because it follows from the clock; see `withDuration`. */
  readonly record: AgentRecord;
}

/**
 * The agent no longer exists, with everything about it that has a lower revision. If it is the thread itself: all
 * agents of the thread.
 */
export interface RemovedDocument extends About {
  readonly is: "removed";
  readonly uri: string;
}

/** Identified by agent and position. Events of running agents have no status event; their record has the status. */
export interface EventDocument extends About {
  readonly is: "event";
  readonly agent: string;
  /** Position in the agent's log, from 0. `seq` of the event is one more. */
  readonly at: number;
  readonly event: AgentEvent;
}

/** The agent has no events with a lower revision at this position or after it: its log was read anew. */
export interface EventsFromDocument extends About {
  readonly is: "events-from";
  readonly agent: string;
  readonly at: number;
}

/** A long list of an agent in parts of `LIST_PART` items, so that a list that grows is not sent again. */
export interface ListDocument extends About {
  readonly is: "spans" | "calls";
  readonly agent: string;
  /** Position of the first item: a multiple of `LIST_PART`. The parts in order make up the list. */
  readonly at: number;
  /** At most `LIST_PART`; empty if the list has become shorter. */
  readonly items: readonly Span[] | readonly SharedCall[];
}

export const LIST_PART = 128;

export interface DetailDocument extends About {
  readonly is: "detail";
  readonly agent: string;
  readonly what: keyof SharedDetails;
  readonly value: SharedDetails[keyof SharedDetails];
}

/** About one agent alone; views of a subtree are made from those of its agents. */
export interface SharedDetails {
  readonly why: Why;
  /** Those that it sent, and those that revived it. */
  readonly messages: readonly Message[];
  /** Its usage by day and model. */
  readonly spent: readonly SpentRow[];
  /** Its events that report the end of other agents. */
  readonly reports: readonly SharedReport[];
}
