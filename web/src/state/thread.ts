import { type Accessor, batch, createEffect, createMemo, createSignal, on, onCleanup, type Setter } from "solid-js";
import { AgentSet, type Sums } from "../data/agent-set.ts";
import type { ApiError } from "../data/api.ts";
import { threadOf } from "../data/route.ts";
import type { AgentRecord } from "../data/types.ts";
import { api, type LiveNews, listen } from "./server.ts";

/** A thread with all its agents, kept up to date. */
export interface Thread {
  readonly set: AgentSet;
  /** Uri of the root, once it is known. */
  readonly root: Accessor<string | null>;
  readonly error: Accessor<ApiError | null>;
  /** Changes when agents come, go or move. */
  readonly shape: Accessor<number>;
  /** Changes with any record. */
  readonly pulse: Accessor<number>;
  agent(uri: string): AgentRecord | undefined;
  sums(uri: string): Sums | undefined;
  reload(): Promise<void>;
}

/** Follows the thread of whatever URI is looked at. Agents tick one by one: only what shows a record is drawn again when it changes. */
export function useThread(uri: Accessor<string>): Thread {
  let set = new AgentSet();
  let signals = new Map<string, [Accessor<AgentRecord | undefined>, Setter<AgentRecord | undefined>]>();
  let waiting: LiveNews[] | null = [];
  let loading = new AbortController();
  const [root, setRoot] = createSignal<string | null>(null);
  const [error, setError] = createSignal<ApiError | null>(null);
  const [shape, setShape] = createSignal(0);
  const [pulse, setPulse] = createSignal(0);

  function tick(uris: Iterable<string>, moved: boolean): void {
    batch(() => {
      for (const one of uris) signals.get(one)?.[1](() => set.get(one));
      if (moved) setShape((n) => n + 1);
      setPulse((n) => n + 1);
    });
  }

  function take(news: LiveNews, isOld: (record: AgentRecord) => boolean = () => false): void {
    const top = root();
    const touched: string[] = [];
    let moved = false;
    for (const record of news.agents) {
      const isOurs = set.has(record.uri) || record.uri === top || threadOf(record.uri) === top || (record.parent !== null && set.has(record.parent));
      if (!isOurs || isOld(record)) continue;
      if (set.put(record) !== "changed") moved = true;
      touched.push(record.uri);
    }
    for (const gone of news.removed) {
      if (!set.remove(gone)) continue;
      moved = true;
      touched.push(gone);
    }
    if (touched.length > 0) tick(touched, moved);
  }

  async function load(): Promise<void> {
    loading.abort();
    loading = new AbortController();
    const { signal } = loading;
    waiting = [];
    try {
      // The address may name the thread by a short form: the record has the full one.
      const { body: tree, live } = await api.agent(threadOf(uri()), signal);
      const fresh = new AgentSet();
      fresh.putTree(tree);
      const before = [...set.uris()];
      set = fresh;
      setError(null);
      setRoot(tree.uri);
      tick([...before, ...fresh.uris()], true);
      // What arrived meanwhile may be older than the tree.
      const isOld = (record: AgentRecord) => (set.get(record.uri)?.lastActivityAt ?? "") > (record.lastActivityAt ?? "");
      const missed = waiting ?? [];
      waiting = null;
      for (const news of missed) take(news, isOld);
      heardUntil(live);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  }

  const thread = createMemo(() => threadOf(uri()));
  createEffect(
    on(thread, () => {
      set = new AgentSet();
      signals = new Map();
      setRoot(null);
      void load();
    }),
  );
  const heardUntil = listen(() => ({ tree: thread() }), {
    news: (news) => {
      if (waiting !== null) waiting.push(news);
      else take(news);
    },
    reset: () => void load(),
  });
  onCleanup(() => loading.abort());

  return {
    get set() {
      return set;
    },
    root,
    error,
    shape,
    pulse,
    agent(one) {
      let signal = signals.get(one);
      if (signal === undefined) {
        signal = createSignal(set.get(one), { equals: false });
        signals.set(one, signal);
      }
      return signal[0]();
    },
    sums(one) {
      pulse();
      return set.sumsOf(one);
    },
    reload: load,
  };
}
