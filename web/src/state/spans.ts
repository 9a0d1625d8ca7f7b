import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { threadOf } from "../data/route.ts";
import { SpanSet, type SpansChange } from "../data/span-set.ts";
import { api, listen } from "./server.ts";
import type { Thread } from "./thread.ts";

export interface Spans {
  readonly set: SpanSet;
  /** Changes with every update; 0 until the first response. */
  readonly version: Accessor<number>;
  readonly error: Accessor<ApiError | null>;
}

/** Minimum interval between requests, in case changes are missed repeatedly. */
const REFRESH_MS = 400;

/** The spans of a thread's agents. The live stream sends changes; those that were missed are requested. */
export function useSpans(uri: Accessor<string>, thread: Thread): Spans {
  let set = new SpanSet();
  let aborter = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;
  let isStale = false;
  const [version, setVersion] = createSignal(0);
  const [error, setError] = createSignal<ApiError | null>(null);

  async function fetchNew(): Promise<void> {
    if (isAsking) {
      isStale = true;
      return;
    }
    isAsking = true;
    isStale = false;
    const { signal } = aborter;
    try {
      const { body, live } = await api.spans(threadUri(), set.next, signal);
      if (signal.aborted) return;
      set.apply(body);
      setError(null);
      setPosition(live);
      if (body.whole || body.items.length > 0) setVersion((n) => n + 1);
    } catch (failure) {
      if (signal.aborted) return;
      setError(failure as ApiError);
      // Other parts of the page must not wait for these spans.
      setPosition(null);
    } finally {
      if (!signal.aborted) {
        isAsking = false;
        if (isStale) fetchSoon();
      }
    }
  }

  function fetchSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void fetchNew();
    }, REFRESH_MS);
  }

  function stop(): void {
    aborter.abort();
    clearTimeout(timer);
    timer = undefined;
    isAsking = false;
  }

  const threadUri = createMemo(() => threadOf(uri()));
  createEffect(
    on(threadUri, () => {
      stop();
      aborter = new AbortController();
      set = new SpanSet();
      setVersion(0);
      void fetchNew();
    }),
  );
  const setPosition = listen(() => ({ spans: threadUri() }), {
    changes: ({ spans }) => take(spans.filter(({ uri: of }) => of === thread.root())),
    reset: () => void fetchNew(),
  });
  onCleanup(stop);

  function take(changes: readonly SpansChange[]): void {
    if (changes.length === 0) return;
    // The response that is expected may be older than these.
    if (isAsking || changes.some((change) => !set.applyChange(change))) {
      isStale = true;
      if (!isAsking) fetchSoon();
    }
    if (version() > 0) setVersion((n) => n + 1);
  }

  return {
    get set() {
      return set;
    },
    version,
    error,
  };
}
