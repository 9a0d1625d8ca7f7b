import type { Story, StoryCall } from "../../core/story.ts";

/** One piece of work with a beginning and an end, before it is put into somebody's words. */
export interface Span {
  /** Names it for good; ids are made from it. */
  readonly key: string;
  readonly kind: "turn" | "agent" | "call" | "message" | "prompt" | "tool" | "compaction";
  readonly parent: Span | null;
  /** The agent that did it. */
  readonly story: Story;
  readonly turn: number;
  /** Never before the parent's. */
  readonly start: number;
  /** The time in its id: of the record that it is made from, and so the same for good. */
  readonly born: number;
  /** Null while it goes on, or somebody below it does. */
  readonly end: number | null;
  /** Its kind, its parent and its beginning are final. False: a record that is still to come may change them. */
  readonly isCertain: boolean;
  /** When it itself was done, where it waits for others. */
  readonly ownEnd: number | null;
  readonly input: readonly Message[];
  readonly output: readonly Message[];
  readonly call: StoryCall | null;
  readonly tool: SpanTool | null;
  /** What went wrong. */
  readonly error: string | null;
  /** Errors on the way that were got over. */
  readonly marks: readonly { readonly at: number; readonly text: string }[];
  /** Keys of the agents whose end it was told. */
  readonly answers: readonly string[];
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
  /** What the model thought before it spoke. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  /** Of a tool's answer: the call. */
  readonly callId?: string;
}

/** One turn of a thread with everything below it, parents before children. */
export interface Trace {
  readonly root: Span;
  readonly spans: readonly Span[];
}

/** Everything in it has ended and stands where it will stay. */
export const isComplete = ({ spans }: Trace) => spans.every(({ isCertain, end }) => isCertain && end !== null);
