import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { threadOf } from "../data/route.ts";
import { SpanSet } from "../data/span-set.ts";
import { api } from "./server.ts";
import type { Thread } from "./thread.ts";

export interface Spans {
  readonly set: SpanSet;
  /** Changes with every update; 0 until the first response. */
  readonly version: Accessor<number>;
  readonly error: Accessor<ApiError | null>;
}

/** Minimum interval between requests, because records change many times a second. */
const AGAIN_MS = 400;

/** The spans of a thread's agents. Changed records trigger a request for new spans only. */
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
      const response = await api.spans(threadUri(), set.next, signal);
      if (signal.aborted) return;
      set.take(response);
      setError(null);
      if (response.whole || response.items.length > 0) setVersion((n) => n + 1);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
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
    }, AGAIN_MS);
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
  createEffect(on(thread.pulse, () => version() > 0 && fetchSoon(), { defer: true }));
  onCleanup(stop);

  return {
    get set() {
      return set;
    },
    version,
    error,
  };
}
