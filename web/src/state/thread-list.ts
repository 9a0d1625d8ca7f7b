import { createEffect, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { threadOf } from "../data/route.ts";
import { type ThreadFilters, threadKey } from "../data/thread-list.ts";
import type { AgentRecord } from "../data/types.ts";
import { api, listen } from "./server.ts";

const PAGE = 100;

/** Top-level threads, loaded page by page and kept up to date. */
export function useThreadList(filters: () => ThreadFilters) {
  /** By the key of the thread. */
  const [records, setRecords] = createSignal<ReadonlyMap<string, AgentRecord>>(new Map());
  const [loaded, setLoaded] = createSignal(false);
  const [error, setError] = createSignal<ApiError | null>(null);
  let cursor: string | null = null;
  let loading: AbortController | null = null;

  async function more(): Promise<void> {
    if (loading !== null || (loaded() && cursor === null)) return;
    const { provider, project, status, since } = filters();
    const mine = new AbortController();
    loading = mine;
    try {
      const query = { provider: provider ?? undefined, cwd: project ?? undefined, since: since ?? undefined };
      const { body: page, live } = await api.threads(
        { ...query, cursor: cursor ?? undefined, limit: PAGE },
        mine.signal,
      );
      cursor = page.next;
      setRecords((before) => new Map([...before, ...page.items.map((record) => [threadKey(record), record] as const)]));
      setLoaded(true);
      setError(null);
      setPosition(live);
    } catch (failure) {
      if (!mine.signal.aborted) setError(failure as ApiError);
    } finally {
      if (loading === mine) loading = null;
    }
    // The server cannot filter by status: load further pages until enough match.
    if (!mine.signal.aborted && status !== null && cursor !== null) void more();
  }

  function begin(): void {
    loading?.abort();
    loading = null;
    cursor = null;
    setLoaded(false);
    setRecords(new Map());
    void more();
  }

  createEffect(on(() => JSON.stringify(filters()), begin));
  const setPosition = listen(() => ({ threads: "true" }), {
    changes: ({ agents, removed }) => {
      const roots = agents.filter((record) => record.parent === null);
      // A thread that moved below another one is no longer a thread.
      const moved = agents.filter((record) => record.parent !== null && threadOf(record.uri) !== record.uri);
      const gone = new Set([...removed, ...moved.map(({ uri }) => uri)]);
      if (roots.length === 0 && gone.size === 0) return;
      const lost = [...records().values()].filter(({ uri }) => gone.has(uri));
      // Several owners have the thread, and only one of them has removed it.
      if (new Set(lost.map(({ uri }) => uri)).size < lost.length) return begin();
      setRecords((before) => {
        const after = new Map(before);
        for (const record of lost) after.delete(threadKey(record));
        for (const record of roots) after.set(threadKey(record), record);
        return after;
      });
    },
    reset: begin,
  });
  onCleanup(() => loading?.abort());
  return { records, loaded, error, more, retry: begin };
}
