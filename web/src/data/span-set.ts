import type { Span } from "../../../src/core/views/span.ts";

export type { Span } from "../../../src/core/views/span.ts";
export { busyMs } from "../../../src/core/views/span.ts";

/**
 * `GET /api/agents/{uri}/spans`: edits, of each agent in the order in which to apply them. `removed` is null if all
 * spans from `first` on are replaced.
 */
export interface SpansResponse {
  readonly items: readonly {
    readonly uri: string;
    readonly first: number;
    readonly removed: number | null;
    readonly spans: readonly Span[];
  }[];
  readonly next: string;
  readonly whole: boolean;
}

/** A message of the live stream: edits for a set whose `next` is `after`; null if they have to be requested. */
export interface SpansChange extends Pick<SpansResponse, "items" | "next"> {
  readonly uri: string;
  readonly after: string | null;
}

/** The spans of one agent, with an index to find those of a moment. */
export interface SpanList {
  readonly spans: readonly Span[];
  /**
   * For each span the latest end of it and of all spans before it; all spans before the first one that
   * reaches a moment have ended by then.
   */
  readonly reaches: readonly number[];
}

const EMPTY: SpanList = { spans: [], reaches: [] };

/** The spans of a thread's agents, updated by responses that contain only edits. */
export class SpanSet {
  #lists = new Map<string, { readonly spans: Span[]; readonly reaches: number[] }>();
  /** `after` of the next request. */
  next: string | undefined;
  /** Number of spans visited by edits so far. */
  visited = 0;

  take({ items, next, whole }: SpansResponse): void {
    if (whole) this.#lists = new Map();
    this.next = next;
    for (const { uri, first, removed, spans } of items) {
      const list = this.#lists.get(uri) ?? { spans: [], reaches: [] };
      this.#lists.set(uri, list);
      replace(list.spans, first, removed, spans);
      replace(
        list.reaches,
        first,
        removed,
        spans.map(() => Number.NaN),
      );
      this.#reach(list, first, first + spans.length);
    }
  }

  /** False if changes before this one are missing and have to be requested. */
  takeChange({ after, next, items }: SpansChange): boolean {
    if (after !== null && after === this.next) {
      this.take({ items, next, whole: false });
      return true;
    }
    const [known, sent] = [versionIn(this.next), versionIn(next)];
    return known.of === sent.of && known.number >= sent.number;
  }

  /** Updates the index from the first changed span on, until the values after the last one are unchanged. */
  #reach(
    { spans, reaches }: { readonly spans: readonly Span[]; readonly reaches: number[] },
    first: number,
    last: number,
  ): void {
    let latest = reaches[first - 1] ?? Number.NEGATIVE_INFINITY;
    for (let i = first; i < spans.length; i += 1) {
      this.visited += 1;
      latest = Math.max(latest, spans[i]?.to ?? Number.POSITIVE_INFINITY);
      if (i >= last && reaches[i] === latest) return;
      reaches[i] = latest;
    }
  }

  of(uri: string): SpanList {
    return this.#lists.get(uri) ?? EMPTY;
  }

  get count(): number {
    return [...this.#lists.values()].reduce((sum, { spans }) => sum + spans.length, 0);
  }
}

/** `next` is the name of the server's list and the number of its version. */
function versionIn(next = ""): { readonly of: string; readonly number: number } {
  const dash = next.lastIndexOf("-");
  return { of: next.slice(0, Math.max(0, dash)), number: Number(next.slice(dash + 1)) };
}

/** A list may be longer than the maximum number of arguments. */
const MANY = 10_000;

function replace<T>(list: T[], first: number, removed: number | null, items: readonly T[]): void {
  list.splice(first, removed ?? list.length, ...items.slice(0, MANY));
  for (let from = MANY; from < items.length; from += MANY)
    list.splice(first + from, 0, ...items.slice(from, from + MANY));
}

/** The first span that may still be running at this moment. */
export function firstReaching({ reaches }: SpanList, at: number): number {
  let [low, high] = [0, reaches.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((reaches[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
