import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import type { StatsAnswer } from "../data/stats.ts";
import { api, listen } from "./server.ts";

/** Everything is added up anew for each answer; nobody reads sums faster than this. */
const AGAIN_MS = 3_000;

/** What was spent, kept up to date while agents work. */
export function useStats(since: Accessor<string | undefined>): {
  readonly stats: Accessor<StatsAnswer | null>;
  readonly error: Accessor<ApiError | null>;
  reload(): void;
} {
  const [stats, setStats] = createSignal<StatsAnswer | null>(null);
  const [error, setError] = createSignal<ApiError | null>(null);
  let asking = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const ask = async () => {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    try {
      const answer = await api.stats(since(), signal);
      if (signal.aborted) return;
      setStats(answer);
      setError(null);
      // The sums say nothing of the stream: it begins where it stands.
      heardUntil(null);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  };
  createEffect(on(since, () => void ask()));
  const heardUntil = listen(() => ({ threads: "true" }), {
    news: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void ask();
      }, AGAIN_MS);
    },
    reset: () => void ask(),
  });
  onCleanup(() => {
    asking.abort();
    clearTimeout(timer);
  });
  return { stats, error, reload: () => void ask() };
}
