import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import type { StatsResponse } from "../data/stats.ts";
import { api, listen } from "./server.ts";

/** Minimum interval between requests, because each one computes all sums. */
const AGAIN_MS = 3_000;

/** Usage statistics, kept up to date while agents run. */
export function useStats(since: Accessor<string | undefined>): {
  readonly stats: Accessor<StatsResponse | null>;
  readonly error: Accessor<ApiError | null>;
  reload(): void;
} {
  const [stats, setStats] = createSignal<StatsResponse | null>(null);
  const [error, setError] = createSignal<ApiError | null>(null);
  let aborter = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const load = async () => {
    aborter.abort();
    aborter = new AbortController();
    const { signal } = aborter;
    try {
      const response = await api.stats(since(), signal);
      if (signal.aborted) return;
      setStats(response);
      setError(null);
      // Statistics have no stream position: start at the current one.
      setPosition(null);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  };
  createEffect(on(since, () => void load()));
  const setPosition = listen(() => ({ threads: "true" }), {
    changes: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void load();
      }, AGAIN_MS);
    },
    reset: () => void load(),
  });
  onCleanup(() => {
    aborter.abort();
    clearTimeout(timer);
  });
  return { stats, error, reload: () => void load() };
}
