import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
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

/** The spans of a thread's agents. The records tell when there is something new; then only that is asked for. */
export function useSpans(thread: Thread): Spans {
  let set = new SpanSet();
  let asking = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isAsking = false;
  let isStale = false;
  const [version, setVersion] = createSignal(0);
  const [error, setError] = createSignal<ApiError | null>(null);

  async function ask(root: string): Promise<void> {
    if (isAsking) {
      isStale = true;
      return;
    }
    isAsking = true;
    isStale = false;
    const { signal } = asking;
    try {
      const answer = await api.spans(root, set.next, signal);
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
      const root = thread.root();
      if (root !== null) void ask(root);
    }, AGAIN_MS);
  }

  function stop(): void {
    asking.abort();
    clearTimeout(timer);
    timer = undefined;
    isAsking = false;
  }

  createEffect(
    on(thread.root, (root) => {
      stop();
      asking = new AbortController();
      set = new SpanSet();
      setVersion(0);
      if (root !== null) void ask(root);
    }),
  );
  createEffect(on(thread.pulse, () => thread.root() !== null && askSoon(), { defer: true }));
  onCleanup(stop);

  return {
    get set() {
      return set;
    },
    version,
    error,
  };
}
