import { type Accessor, createSignal, Show } from "solid-js";
import { exact } from "../data/format.ts";

/** The first items of a list, with a switch to show all of them. */
export function createShortList<T>(items: Accessor<readonly T[]>, first: number) {
  const [isAll, setIsAll] = createSignal(false);
  return {
    shown: () => (isAll() ? items() : items().slice(0, first)),
    /** Nothing if the list is short. */
    Switch: () => (
      <Show when={items().length > first}>
        <button type="button" class="quiet more" onClick={() => setIsAll(!isAll())}>
          {isAll() ? "Show fewer" : `Show all ${exact(items().length)}`}
        </button>
      </Show>
    ),
  };
}
