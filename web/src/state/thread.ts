import { type Accessor, batch, createEffect, createMemo, createSignal, on, onCleanup, type Setter } from "solid-js";
import { AgentSet, type Sums } from "../data/agent-set.ts";
import type { ApiError } from "../data/api.ts";
import { threadOf } from "../data/route.ts";
import type { AgentRecord } from "../data/types.ts";
import { api, type LiveChanges, listen } from "./server.ts";

/** A thread with all its agents, updated live. */
export interface Thread {
  readonly set: AgentSet;
  /** The URI of the root, once known. */
  readonly root: Accessor<string | null>;
  readonly error: Accessor<ApiError | null>;
  /** Changes when agents are added, removed or moved. */
  readonly shape: Accessor<number>;
  /** Changes with any record. */
  readonly pulse: Accessor<number>;
  agent(uri: string): AgentRecord | undefined;
  sums(uri: string): Sums | undefined;
  reload(): Promise<void>;
}

/** Follows the thread of the given URI. Each record is a signal of its own, so that a change redraws only its users. */
export function useThread(uri: Accessor<string>): Thread {
  let set = new AgentSet();
  let signals = new RecordSignals();
  /** Changes that arrive while the tree is loaded; null at other times. */
  let pending: LiveChanges[] | null = [];
  let loading = new AbortController();
  const [root, setRoot] = createSignal<string | null>(null);
  const [error, setError] = createSignal<ApiError | null>(null);
  const [shape, setShape] = createSignal(0);
  const [pulse, setPulse] = createSignal(0);

  function notify(uris: Iterable<string>, moved: boolean): void {
    batch(() => {
      for (const one of uris) signals.set(one, set.get(one));
      if (moved) setShape((n) => n + 1);
      setPulse((n) => n + 1);
    });
  }

  function apply(changes: LiveChanges, isOld: (record: AgentRecord) => boolean = () => false): void {
    const top = root();
    const touched: string[] = [];
    let moved = false;
    for (const record of changes.agents) {
      const isInThread =
        set.has(record.uri) ||
        record.uri === top ||
        threadOf(record.uri) === top ||
        (record.parent !== null && set.has(record.parent));
      if (!isInThread || isOld(record)) continue;
      if (set.put(record) !== "changed") moved = true;
      touched.push(record.uri);
    }
    for (const gone of changes.removed) {
      if (!set.remove(gone)) continue;
      moved = true;
      touched.push(gone);
    }
    if (touched.length > 0) notify(touched, moved);
  }

  async function load(): Promise<void> {
    loading.abort();
    loading = new AbortController();
    const { signal } = loading;
    pending = [];
    try {
      // The URL may contain a short form; the record has the full URI.
      const { body: tree, live } = await api.agent(threadOf(uri()), signal);
      const fresh = new AgentSet();
      fresh.putTree(tree);
      const before = [...set.uris()];
      set = fresh;
      setError(null);
      setRoot(tree.uri);
      notify([...before, ...fresh.uris()], true);
      // A change that arrived meanwhile may be older than the tree.
      const isOld = (record: AgentRecord) =>
        (set.get(record.uri)?.lastActivityAt ?? "") > (record.lastActivityAt ?? "");
      const arrived = pending ?? [];
      pending = null;
      for (const changes of arrived) apply(changes, isOld);
      setPosition(live);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  }

  const thread = createMemo(() => threadOf(uri()));
  createEffect(
    on(thread, () => {
      set = new AgentSet();
      signals = new RecordSignals();
      setRoot(null);
      void load();
    }),
  );
  const setPosition = listen(() => ({ tree: thread() }), {
    changes: (changes) => {
      if (pending !== null) pending.push(changes);
      else apply(changes);
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
    agent: (one) => signals.read(one, set.get(one)),
    sums(one) {
      pulse();
      return set.sumsOf(one);
    },
    reload: load,
  };
}

/** A signal for each record that was read. */
class RecordSignals {
  readonly #signals = new Map<string, [Accessor<AgentRecord | undefined>, Setter<AgentRecord | undefined>]>();

  /** Tracks the record. `current` is its value if it has no signal yet. */
  read(uri: string, current: AgentRecord | undefined): AgentRecord | undefined {
    let signal = this.#signals.get(uri);
    if (signal === undefined) {
      signal = createSignal(current, { equals: false });
      this.#signals.set(uri, signal);
    }
    return signal[0]();
  }

  set(uri: string, record: AgentRecord | undefined): void {
    this.#signals.get(uri)?.[1](() => record);
  }
}
