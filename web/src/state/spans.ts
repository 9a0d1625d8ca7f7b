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

/** Delay of a request for missed changes. */
const REFRESH_MS = 400;

/** The spans of a thread's agents. Changes arrive by the live stream; missed ones are requested. */
export function useSpans(uri: Accessor<string>, thread: Thread): Spans {
  let set = new SpanSet();
  let aborter = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isLoading = false;
  let isStale = false;
  const [version, setVersion] = createSignal(0);
  const [error, setError] = createSignal<ApiError | null>(null);

  async function fetchNew(): Promise<void> {
    if (isLoading) {
      isStale = true;
      return;
    }
    isLoading = true;
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
      // The live stream starts when all listeners have a position; other parts of the page must not wait.
      setPosition(null);
    } finally {
      if (!signal.aborted) {
        isLoading = false;
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
    isLoading = false;
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
    changes: ({ spans }) => applyChanges(spans.filter((change) => change.uri === thread.root())),
    reset: () => void fetchNew(),
  });
  onCleanup(stop);

  function applyChanges(changes: readonly SpansChange[]): void {
    if (changes.length === 0) return;
    // The pending response may be older than these changes.
    if (isLoading || changes.some((change) => !set.applyChange(change))) {
      isStale = true;
      if (!isLoading) fetchSoon();
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
