import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { EventList, type LoadedEvent } from "../data/events.ts";
import type { AgentEvent } from "../data/types.ts";
import { api, listen } from "./server.ts";

export interface Events {
  readonly items: Accessor<readonly LoadedEvent[]>;
  /** True when all past events are loaded. */
  readonly complete: Accessor<boolean>;
  readonly error: Accessor<ApiError | null>;
}

const PAGE = 500;
/** Small, so that the first events appear soon. */
const FIRST_PAGE = 100;

/** The events of an agent or of its whole subtree: past events page by page, then live ones. */
export function useEvents(
  address: Accessor<string | null>,
  /** `belongs` filters the live stream, which also carries events that other parts of the page follow. */
  options: { subtree: boolean; belongs: (event: AgentEvent) => boolean },
): Events {
  /** A memo, so that another parameter of the URL does not load the events again. */
  const uri = createMemo(address);
  let list = new EventList();
  let loading = new AbortController();
  const [items, setItems] = createSignal<readonly LoadedEvent[]>([]);
  const [complete, setComplete] = createSignal(false);
  const [error, setError] = createSignal<ApiError | null>(null);

  const add = (events: readonly AgentEvent[]) => {
    if (list.add(events)) setItems(list.items);
  };

  async function load(agent: string): Promise<void> {
    loading.abort();
    loading = new AbortController();
    const { signal } = loading;
    list = new EventList();
    setItems([]);
    setComplete(false);
    setError(null);
    try {
      let after: string | undefined;
      for (let hasMore = true; hasMore; ) {
        const { body: page, live } = await api.events(
          agent,
          { after, limit: after === undefined ? FIRST_PAGE : PAGE, ...(options.subtree ? { subtree: true } : {}) },
          signal,
        );
        if (signal.aborted) return;
        add(page.items);
        setPosition(live);
        after = page.next;
        hasMore = page.items.length > 0 && page.first + page.items.length < page.total;
      }
      setComplete(true);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  }

  createEffect(
    on(uri, (agent) => {
      if (agent !== null) void load(agent);
    }),
  );
  const setPosition = listen(() => ({ [options.subtree ? "log" : "events"]: uri() }), {
    changes: ({ events }) => add(events.filter(options.belongs)),
    reset: () => {
      const agent = uri();
      if (agent !== null) void load(agent);
    },
  });
  onCleanup(() => loading.abort());
  return { items, complete, error };
}
