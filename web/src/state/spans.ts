import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { threadOf } from "../data/route.ts";
import { SpanSet } from "../data/span-set.ts";
import { api } from "./server.ts";
import type { Thread } from "./thread.ts";

export interface Spans {
  readonly set: SpanSet;
  /** Changes with anything in it; 0 until the first answer is there. */
  readonly version: Accessor<number>;
  readonly error: Accessor<ApiError | null>;
}

/** Records change many times a second; what is new is asked for at most this often. */
const AGAIN_MS = 400;

/** The spans of a thread's agents, asked for beside its records. These tell when there is something new; then only that is asked for. */
export function useSpans(uri: Accessor<string>, thread: Thread): Spans {
  let set = new SpanSet();
  let asking = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;
  let isStale = false;
  const [version, setVersion] = createSignal(0);
  const [error, setError] = createSignal<ApiError | null>(null);

  async function ask(): Promise<void> {
    if (isAsking) {
      isStale = true;
      return;
    }
    isAsking = true;
    isStale = false;
    const { signal } = asking;
    try {
      const answer = await api.spans(wanted(), set.next, signal);
      if (signal.aborted) return;
      set.take(answer);
      setError(null);
      if (answer.whole || answer.items.length > 0) setVersion((n) => n + 1);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    } finally {
      if (!signal.aborted) {
        isAsking = false;
        if (isStale) askSoon();
      }
    }
  }

  function askSoon(): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void ask();
    }, AGAIN_MS);
  }

  function stop(): void {
    asking.abort();
    clearTimeout(timer);
    timer = undefined;
    isAsking = false;
  }

  const wanted = createMemo(() => threadOf(uri()));
  createEffect(
    on(wanted, () => {
      stop();
      asking = new AbortController();
      set = new SpanSet();
      setVersion(0);
      void ask();
    }),
  );
  createEffect(on(thread.pulse, () => version() > 0 && askSoon(), { defer: true }));
  onCleanup(stop);

  return {
    get set() {
      return set;
    },
    version,
    error,
  };
}
