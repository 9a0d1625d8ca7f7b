import { createSignal, onCleanup } from "solid-js";
import type { ApiError } from "../data/api.ts";
import type { Card } from "../data/board.ts";
import { api, listen } from "./server.ts";

/** All cards, updated live. `onChange` is called with the old and new version of each changed card. */
export function useCards(onChange: (before: Card | undefined, now: Card) => void = () => {}) {
  const [cards, setCards] = createSignal<ReadonlyMap<string, Card>>(new Map());
  const [loaded, setLoaded] = createSignal(false);
  const [error, setError] = createSignal<ApiError | null>(null);
  let loading = new AbortController();

  async function load(): Promise<void> {
    loading.abort();
    loading = new AbortController();
    const { signal } = loading;
    try {
      const { body, live } = await api.cards(signal);
      setCards(new Map(body.items.map((card) => [card.id, card])));
      setLoaded(true);
      setError(null);
      setPosition(live);
    } catch (failure) {
      if (!signal.aborted) setError(failure as ApiError);
    }
  }

  const apply = (changed: ReadonlyMap<string, Card | null>) => {
    if (changed.size === 0) return;
    const before = cards();
    const after = new Map(before);
    for (const [id, card] of changed) {
      if (card === null) after.delete(id);
      else after.set(id, card);
    }
    setCards(after);
    for (const [id, card] of changed) if (card !== null) onChange(before.get(id), card);
  };
  const setPosition = listen(() => ({ cards: "true" }), {
    changes: ({ cards: changed }) => apply(changed),
    reset: () => void load(),
  });
  void load();
  onCleanup(() => loading.abort());
  return { cards, loaded, error, retry: () => void load() };
}
