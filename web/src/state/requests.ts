import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { merged, type RequestRecord } from "../data/requests.ts";
import { api } from "./server.ts";

export interface AgentRequests {
  /** Newest first. */
  readonly items: Accessor<readonly RequestRecord[]>;
  readonly isLoaded: Accessor<boolean>;
  readonly error: Accessor<ApiError | null>;
  /** Loads the next page of older requests; null if there are none. */
  readonly older: Accessor<(() => Promise<void>) | null>;
}

const PAGE = 100;
/** Minimum interval between requests while an agent runs. */
const REFRESH_MS = 1_000;

/** The API requests of one agent, page by page. The first page is requested again when `pulse` changes. */
export function useRequests(
  agent: Accessor<string>,
  isWork: Accessor<boolean>,
  pulse: Accessor<unknown>,
): AgentRequests {
  const [items, setItems] = createSignal<readonly RequestRecord[]>([]);
  const [next, setNext] = createSignal<string | null>(null);
  const [isLoaded, setLoaded] = createSignal(false);
  const [error, setError] = createSignal<ApiError | null>(null);
  let loading = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function load(cursor: string | undefined, isFirst: boolean): Promise<void> {
    const { signal } = loading;
    try {
      const page = await api.requests({ agent: agent(), work: isWork(), limit: PAGE, cursor }, signal);
      if (signal.aborted) return;
      setItems((known) => merged(isFirst ? [] : known, page.items));
      if (isFirst || cursor !== undefined) setNext(page.next);
      setLoaded(true);
      setError(null);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  }

  createEffect(
    on([agent, isWork], () => {
      loading.abort();
      loading = new AbortController();
      setItems([]);
      setNext(null);
      setLoaded(false);
      void load(undefined, true);
    }),
  );
  createEffect(
    on(
      pulse,
      () => {
        timer ??= setTimeout(() => {
          timer = undefined;
          void load(undefined, false);
        }, REFRESH_MS);
      },
      { defer: true },
    ),
  );
  onCleanup(() => {
    loading.abort();
    clearTimeout(timer);
  });
  return {
    items,
    isLoaded,
    error,
    older: () => {
      const cursor = next();
      return cursor === null ? null : () => load(cursor, false);
    },
  };
}
