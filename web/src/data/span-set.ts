import type { Span } from "../../../src/core/span.ts";

export type { Span } from "../../../src/core/span.ts";
export { AGENTS, busyMs } from "../../../src/core/span.ts";

/** `GET /api/agents/{uri}/spans` */
export interface SpansAnswer {
  readonly items: readonly { readonly uri: string; readonly first: number; readonly spans: readonly Span[] }[];
  readonly next: string;
  readonly whole: boolean;
}

/** The spans of one agent, with what is needed to find those of a moment quickly. */
export interface SpanList {
  readonly spans: readonly Span[];
  /** For each span the latest end of it and of all before it: everything before the first that reaches a moment is over by then. */
  readonly reaches: Float64Array;
}

const EMPTY: SpanList = { spans: [], reaches: new Float64Array() };

/** The spans of a thread's agents, kept up to date by answers that tell only what is new. */
export class SpanSet {
  #lists = new Map<string, SpanList>();
  /** What to ask with next. */
  next: string | undefined;

  take({ items, next, whole }: SpansAnswer): void {
    if (whole) this.#lists = new Map();
    this.next = next;
    for (const { uri, first, spans } of items) this.#lists.set(uri, listOf([...this.of(uri).spans.slice(0, first), ...spans]));
  }

  of(uri: string): SpanList {
    return this.#lists.get(uri) ?? EMPTY;
  }

  get count(): number {
    return [...this.#lists.values()].reduce((sum, { spans }) => sum + spans.length, 0);
  }
}

function listOf(spans: readonly Span[]): SpanList {
  const reaches = new Float64Array(spans.length);
  let latest = Number.NEGATIVE_INFINITY;
  for (const [i, { to }] of spans.entries()) {
    latest = Math.max(latest, to ?? Number.POSITIVE_INFINITY);
    reaches[i] = latest;
  }
  return { spans, reaches };
}

/** The first span that may still go on at this moment. */
export function firstReaching({ reaches }: SpanList, at: number): number {
  let [low, high] = [0, reaches.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((reaches[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
