import { onCleanup } from "solid-js";

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** Key bindings, newest first: a dialog handles keys before the page below it. */
const layers: { readonly keys: Keys; readonly modal: boolean }[] = [];

/** Binds keys while the component is mounted. A modal layer hides all layers below it. */
export function useKeys(keys: Keys, modal = false): void {
  const layer = { keys, modal };
  layers.unshift(layer);
  onCleanup(() => layers.splice(layers.indexOf(layer), 1));
}

/** Text fields get arrows and letters themselves. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input:not([type=checkbox]), textarea, select") || target.isContentEditable)
  );
}

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) && event.key !== "Escape") return;
    // Enter and space activate the focused control, not the selected row.
    if (
      (event.key === "Enter" || event.key === " ") &&
      event.target instanceof HTMLElement &&
      event.target.closest("button, a, summary, input") !== null
    )
      return;
    for (const { keys, modal } of layers) {
      const handler = keys[event.key];
      if (handler !== undefined) {
        event.preventDefault();
        handler(event);
        return;
      }
      if (modal) return;
    }
  });
}

/** Key bindings for a list: j, k, arrows, paging, Home, End and Enter. */
export function listKeys(list: {
  count: () => number;
  selected: () => number;
  select: (index: number) => void;
  open: (index: number) => void;
}): Keys {
  const to = (index: number) => {
    if (list.count() === 0) return;
    // Takes the focus from the last pressed button, so that Enter opens the selected row.
    document.querySelector<HTMLElement>(".list")?.focus({ preventScroll: true });
    list.select(Math.max(0, Math.min(list.count() - 1, index)));
  };
  const by = (step: number) => () =>
    to(list.selected() < 0 ? (step > 0 ? 0 : list.count() - 1) : list.selected() + step);
  const page = Math.max(1, Math.floor(innerHeight / 40) - 4);
  return {
    j: by(1),
    k: by(-1),
    ArrowDown: by(1),
    ArrowUp: by(-1),
    PageDown: by(page),
    PageUp: by(-page),
    Home: () => to(0),
    End: () => to(list.count() - 1),
    Enter: () => {
      if (list.selected() >= 0) list.open(list.selected());
    },
  };
}
