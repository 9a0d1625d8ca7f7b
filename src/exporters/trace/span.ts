import type { Story, StoryCall } from "../../core/views/story.ts";

/** A unit of work with start and end, independent of the export format. */
export interface Span {
  /** Stable; ids are derived from it. */
  readonly key: string;
  readonly kind: "turn" | "agent" | "call" | "message" | "prompt" | "tool" | "compaction";
  readonly parent: Span | null;
  /** The agent. */
  readonly story: Story;
  readonly turn: number;
  /** Never before the parent's. */
  readonly start: number;
  /** The time that ids contain: that of the record which the span is derived from, so it never changes. */
  readonly born: number;
  /** Null while it or anything below it is running. */
  readonly end: number | null;
  /** Whether kind, parent and start are final. If false, a later record may change them. */
  readonly isCertain: boolean;
  /** The end of the span itself; `end` is later if it waits for children. */
  readonly ownEnd: number | null;
  readonly input: readonly Message[];
  readonly output: readonly Message[];
  readonly call: StoryCall | null;
  readonly tool: SpanTool | null;
  /** The error, if it failed. */
  readonly error: string | null;
  /** Errors that were recovered from. */
  readonly marks: readonly { readonly at: number; readonly text: string }[];
  /** URIs of the agents whose end was reported to this turn. */
  readonly reportedAgents: readonly string[];
}

export interface SpanTool {
  readonly name: string;
  readonly callId: string;
  readonly input: unknown;
  readonly output: string | null;
}

export interface Message {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string | null;
  /** Reasoning before the text. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  /** For a tool result: the call. */
  readonly callId?: string;
}

/** One turn of a thread with all spans below it, parents before children. */
export interface Trace {
  readonly root: Span;
  readonly spans: readonly Span[];
}

/** All its spans have ended and are final. */
export const isComplete = ({ spans }: Trace) => spans.every(({ isCertain, end }) => isCertain && end !== null);
