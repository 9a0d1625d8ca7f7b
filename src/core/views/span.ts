export const SPAN_KINDS = ["model", "tool", "wait"] as const;
export type SpanKind = (typeof SPAN_KINDS)[number];

/** `cut`: it has no recorded end, and its agent has ended. */
export const SPAN_ENDS = ["done", "failed", "cut"] as const;
type SpanEnd = (typeof SPAN_ENDS)[number];

/** An interval in which an agent used a model, ran a tool or waited. */
export interface Span {
  readonly kind: SpanKind;
  /** Epoch milliseconds. */
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
  /** The model, the tool, or what is waited for. */
  readonly name: string | null;
  readonly callId: string | null;
  readonly tokens: number;
  readonly outputTokens: number;
  readonly end: SpanEnd | null;
  /** Agents that the tool call spawned, or that were waited for. */
  readonly agents: readonly string[];
}

export const BLANK = { callId: null, tokens: 0, outputTokens: 0, agents: [] } as const;

/** The name of a wait for agents, as opposed to permissions and persons. */
export const AGENTS = "agents";

/** Working time of an agent: concurrent tools count once, and waiting for agents does not count. */
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

export function isSame(a: Span, b: Span): boolean {
  return (Object.keys(a) as (keyof Span)[]).every((field) =>
    field === "agents"
      ? a.agents.length === b.agents.length && a.agents.every((uri, i) => uri === b.agents[i])
      : a[field] === b[field],
  );
}
