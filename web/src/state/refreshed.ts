import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import type { ApiError, Snapshot } from "../data/api.ts";
import { owner } from "./navigation.ts";
import { listen } from "./server.ts";

export interface Refreshed<T> {
  /** Null until the first response to the current query and owner. */
  readonly value: Accessor<T | null>;
  readonly error: Accessor<ApiError | null>;
  reload(): void;
}

/**
 * A response that depends on all threads. It is requested again when any thread changes, at most once in `everyMs`,
 * because each request computes totals over all threads.
 */
export function useRefreshed<K extends string | number | null | undefined, T>(
  query: Accessor<K>,
  load: (query: K, signal: AbortSignal) => Promise<Snapshot<T>>,
  everyMs: number,
): Refreshed<T> {
  const [value, setValue] = createSignal<T | null>(null);
  const [error, setError] = createSignal<ApiError | null>(null);
  // `query` depends on the URL, which also changes without a change of the query.
  const asked = createMemo(query);
  let aborter = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const reload = async () => {
    aborter.abort();
    aborter = new AbortController();
    const { signal } = aborter;
    try {
      const { body, live } = await load(asked(), signal);
      if (signal.aborted) return;
      setValue(() => body);
      setError(null);
      setPosition(live);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  };
  createEffect(
    on([asked, owner], () => {
      // Otherwise the numbers of one person or period would be shown as those of another until the response.
      setValue(null);
      void reload();
    }),
  );
  const setPosition = listen(() => ({ threads: "true" }), {
    changes: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void reload();
      }, everyMs);
    },
    reset: () => void reload(),
  });
  onCleanup(() => {
    aborter.abort();
    clearTimeout(timer);
  });
  return { value, error, reload: () => void reload() };
}
