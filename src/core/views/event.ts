import type { AgentKey, CallKey, RecordKey } from "../facts/ids.ts";
import type { FromOrigin } from "../facts/origin.ts";
import type { Tokens } from "../facts/usage.ts";
import type { StatusVerdict } from "../link/status.ts";

export const EVENT_KINDS = [
  "user",
  "assistant",
  "reasoning",
  "toolCall",
  "toolResult",
  "spawn",
  "status",
  "compaction",
  "error",
  "note",
] as const;
export type EventKind = (typeof EVENT_KINDS)[number];

/** The public form of an event, `retinue/event@1`. */
export interface AgentEvent {
  readonly schema: "retinue/event@1";
  readonly uri: string;
  readonly id: string;
  readonly seq: number;
  readonly at: string | null;
  readonly kind: EventKind;
  readonly text: string | null;
  /** If the text is markup that the product wrote for its model: its content as a readable sentence. */
  readonly summary: string | null;
  readonly tool: EventTool | null;
  readonly usage: Tokens | null;
  readonly spawn: EventSpawn | null;
  readonly status: Omit<StatusVerdict, "activity"> | null;
  readonly ref: EventRef | null;
}

/** The place of a record: a line of a file, or a row of a database. */
export type EventRef =
  | { readonly path: string; readonly line: number }
  | { readonly path: string; readonly row: string };

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

/** An event as a provider reads it, without URI and number. */
export interface EventDraft extends FromOrigin {
  readonly speaker: AgentKey;
  readonly keys: readonly RecordKey[];
  readonly at: number | null;
  readonly kind: Exclude<EventKind, "spawn" | "status">;
  readonly text: string | null;
  readonly tool: (Omit<EventTool, "callId"> & { readonly call: CallKey }) | null;
  /** Distinguishes it from other events of its record, if the record may change. */
  readonly name?: string;
  /** Set on every row of a response; its tokens are shown once. */
  readonly response: RecordKey | null;
}

export const shownText = ({ summary, text }: Pick<AgentEvent, "summary" | "text">) => summary ?? text;
