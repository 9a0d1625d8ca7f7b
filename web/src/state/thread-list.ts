import { createEffect, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { threadOf } from "../data/route.ts";
import { type ThreadFilters, threadKey } from "../data/thread-list.ts";
import type { AgentRecord } from "../data/types.ts";
import { api, listen } from "./server.ts";

const PAGE = 100;

/** Top-level threads, loaded page by page and updated live. */
export function useThreadList(filters: () => ThreadFilters) {
  /** By `threadKey`. */
  const [records, setRecords] = createSignal<ReadonlyMap<string, AgentRecord>>(new Map());
  const [loaded, setLoaded] = createSignal(false);
  const [error, setError] = createSignal<ApiError | null>(null);
  /** Of the next page; null after the last. */
  const [cursor, setCursor] = createSignal<string | null>(null);
  let loading: AbortController | null = null;

  async function more(): Promise<void> {
    if (loading !== null || (loaded() && cursor() === null)) return;
    const { provider, project, status, since } = filters();
    const current = new AbortController();
    loading = current;
    try {
      const query = { provider: provider ?? undefined, cwd: project ?? undefined, since: since ?? undefined };
      const { body: page, live } = await api.threads(
        { ...query, cursor: cursor() ?? undefined, limit: PAGE },
        current.signal,
      );
      setCursor(page.next);
      setRecords((before) => new Map([...before, ...page.items.map((record) => [threadKey(record), record] as const)]));
      setLoaded(true);
      setError(null);
      setPosition(live);
    } catch (failure) {
      if (!current.signal.aborted) setError(failure as ApiError);
    } finally {
      if (loading === current) loading = null;
    }
    // The server cannot filter by status, so all pages have to be loaded.
    if (!current.signal.aborted && status !== null && cursor() !== null) void more();
  }

  function restart(): void {
    loading?.abort();
    loading = null;
    setCursor(null);
    setLoaded(false);
    setRecords(new Map());
    void more();
  }

  createEffect(on(() => JSON.stringify(filters()), restart));
  const setPosition = listen(() => ({ threads: "true" }), {
    changes: ({ agents, removed }) => {
      const roots = agents.filter((record) => record.parent === null);
      // A thread that moved below another one is no longer a thread.
      const moved = agents.filter((record) => record.parent !== null && threadOf(record.uri) !== record.uri);
      const gone = new Set([...removed, ...moved.map(({ uri }) => uri)]);
      if (roots.length === 0 && gone.size === 0) return;
      const affected = [...records().values()].filter(({ uri }) => gone.has(uri));
      // Several owners have the thread and one of them removed it; the message does not say which.
      if (new Set(affected.map(({ uri }) => uri)).size < affected.length) return restart();
      setRecords((before) => {
        const after = new Map(before);
        for (const record of affected) after.delete(threadKey(record));
        for (const record of roots) after.set(threadKey(record), record);
        return after;
      });
    },
    reset: restart,
  });
  onCleanup(() => loading?.abort());
  return { records, loaded, isComplete: () => cursor() === null, error, more, retry: restart };
}
