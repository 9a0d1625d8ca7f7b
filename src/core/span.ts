export const SPAN_KINDS = ["model", "tool", "wait"] as const;
export type SpanKind = (typeof SPAN_KINDS)[number];

/** `cut`: it never came to its end, and its agent is gone. */
export const SPAN_ENDS = ["done", "failed", "cut"] as const;
export type SpanEnd = (typeof SPAN_ENDS)[number];

/** What an agent was at for a while. */
export interface Span {
  readonly kind: SpanKind;
  /** Epoch milliseconds. */
  readonly from: number;
  /** Null while it goes on. */
  readonly to: number | null;
  /** The model, the tool, or what is waited for. */
  readonly name: string | null;
  readonly callId: string | null;
  readonly tokens: number;
  readonly outputTokens: number;
  readonly end: SpanEnd | null;
  /** Whom a tool made; whom was waited for. */
  readonly agents: readonly string[];
}

/** What is waited for where it is no permission and no person. */
export const AGENTS = "agents";

/** How long an agent was at work itself: two tools at once count once, and waiting for agents is not work. */
export function busyMs(spans: readonly Span[], now: number): number {
  let [sum, until] = [0, Number.NEGATIVE_INFINITY];
  for (const { kind, from, to } of spans) {
    if (kind === "wait") continue;
    const end = to ?? Math.max(from, now);
    sum += Math.max(0, end - Math.max(from, until));
    until = Math.max(until, end);
  }
  return sum;
}
