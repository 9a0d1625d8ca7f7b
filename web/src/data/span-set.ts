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

/** The spans of one agent, with an index for searches by time. */
export interface SpanList {
  readonly spans: readonly Span[];
  /**
   * For each span, the latest end among it and all spans before it. Never decreases, so a binary search finds the first
   * span that may still run at a given time.
   */
  readonly reaches: readonly number[];
}

const EMPTY: SpanList = { spans: [], reaches: [] };

/** The spans of a thread's agents. Responses after the first contain only edits. */
export class SpanSet {
  #lists = new Map<string, { readonly spans: Span[]; readonly reaches: number[] }>();
  /** `after` of the next request. */
  next: string | undefined;
  /** Number of spans visited by edits so far, for tests. */
  visited = 0;

  apply({ items, next, whole }: SpansResponse): void {
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

  /** Returns false if an earlier change is missing, so that the spans have to be requested. */
  applyChange({ after, next, items }: SpansChange): boolean {
    if (after !== null && after === this.next) {
      this.apply({ items, next, whole: false });
      return true;
    }
    const [known, sent] = [versionIn(this.next), versionIn(next)];
    return known.of === sent.of && known.number >= sent.number;
  }

  /** Updates the index from the first changed span on. Stops after the last one as soon as a value stays the same. */
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

/** `next` consists of the name of the server's list and its version number. */
function versionIn(next = ""): { readonly of: string; readonly number: number } {
  const dash = next.lastIndexOf("-");
  return { of: next.slice(0, Math.max(0, dash)), number: Number(next.slice(dash + 1)) };
}

/** Maximum number of arguments for one `splice`; engines limit it. */
const SPLICE_CHUNK = 10_000;

function replace<T>(list: T[], first: number, removed: number | null, items: readonly T[]): void {
  list.splice(first, removed ?? list.length, ...items.slice(0, SPLICE_CHUNK));
  for (let from = SPLICE_CHUNK; from < items.length; from += SPLICE_CHUNK)
    list.splice(first + from, 0, ...items.slice(from, from + SPLICE_CHUNK));
}

/** Index of the first span that may still run at this time. */
export function firstReaching({ reaches }: SpanList, at: number): number {
  let [low, high] = [0, reaches.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((reaches[middle] ?? 0) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}
