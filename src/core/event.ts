import type { Status, StatusSource } from "./agent.ts";
import type { AgentKey, CallKey, RecordKey } from "./ids.ts";
import type { Tokens } from "./usage.ts";

export const EVENT_KINDS = ["user", "assistant", "reasoning", "toolCall", "toolResult", "spawn", "status", "compaction", "error", "note"] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** The public record of something that happened, `retinue/event@1`. */
export interface AgentEvent {
  readonly schema: "retinue/event@1";
  readonly uri: string;
  readonly id: string;
  readonly seq: number;
  readonly at: string | null;
  readonly kind: EventKind;
  readonly text: string | null;
  /** Where the text is markup that the product wrote for its model: what it says, as a sentence for people. */
  readonly summary: string | null;
  readonly tool: EventTool | null;
  readonly usage: Tokens | null;
  readonly spawn: EventSpawn | null;
  readonly status: { readonly status: Status; readonly statusSource: StatusSource; readonly statusReason: string } | null;
  readonly ref: EventRef | null;
}

/** Where a record stands: a line of a file, or a row of a database. */
export type EventRef = { readonly path: string; readonly line: number } | { readonly path: string; readonly row: string };

export interface EventTool {
  readonly name: string | null;
  readonly callId: string;
  readonly input: unknown;
  readonly isError: boolean;
}

export interface EventSpawn {
  readonly uri: string;
  readonly agentId: string | null;
  readonly sessionId: string;
  readonly prompt: string | null;
  readonly type: string | null;
  readonly toolCallId: string | null;
  readonly parent: string;
  readonly depth: number;
  readonly background: boolean;
}

/** What a provider reads off one record, before the tree gives it a URI and a number. */
export interface EventDraft {
  readonly speaker: AgentKey;
  readonly keys: readonly RecordKey[];
  readonly at: number | null;
  readonly kind: Exclude<EventKind, "spawn" | "status">;
  readonly text: string | null;
  readonly tool: { readonly name: string | null; readonly call: CallKey; readonly input: unknown; readonly isError: boolean } | null;
  /** Tells it from others of its record, where a record changes and their number does not say. */
  readonly name?: string;
  /** Somebody looked on; the product's own records may say the same, and then it is told once. */
  readonly witness?: true;
  /** Set on every row of a response; the reader shows each response's tokens once. */
  readonly response: RecordKey | null;
}

/** What to show people of an event's text. */
export const shownText = ({ summary, text }: Pick<AgentEvent, "summary" | "text">) => summary ?? text;
