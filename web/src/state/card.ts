import { type Accessor, createEffect, createMemo, createSignal, on } from "solid-js";
import type { ApiError } from "../data/api.ts";
import type { Card } from "../data/board.ts";
import { go } from "./navigation.ts";
import { api, listen } from "./server.ts";

/** One card, updated live. Leads to the board if the card is deleted. */
export function useCard(address: Accessor<string>) {
  /** A memo, so that another parameter of the URL does not load the card again. */
  const id = createMemo(address);
  const [card, setCard] = createSignal<Card | null>(null);
  const [error, setError] = createSignal<ApiError | null>(null);
  const load = async () => {
    const cardId = id();
    try {
      // Only the list has a position of the live stream; the request for a single card reports a missing one.
      const { body, live } = await api.cards();
      const found = body.items.find((one) => one.id === cardId) ?? null;
      if (found === null) await api.card(cardId);
      setCard(found);
      setError(null);
      setPosition(live);
    } catch (failure) {
      setError(failure as ApiError);
    }
  };
  createEffect(on(id, () => void load()));
  const setPosition = listen(() => ({ cards: "true" }), {
    changes: ({ cards }) => {
      const now = cards.get(id());
      if (now === null) go("board");
      else if (now !== undefined) setCard(now);
    },
    reset: () => void load(),
  });
  return { card, error, retry: () => void load() };
}
