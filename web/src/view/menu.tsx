import { createSignal, For } from "solid-js";
import { Portal } from "solid-js/web";
import { useKeys } from "../state/keys.ts";

export interface MenuItem {
  readonly label: string;
  readonly key?: string;
  readonly run: () => void;
}

/** A context menu next to an element. */
export function Menu(props: { near: Element; items: readonly MenuItem[]; onClose: () => void }) {
  const [selected, setSelected] = createSignal(0);
  const run = (item: MenuItem | undefined) => {
    props.onClose();
    item?.run();
  };
  const by = (step: number) => () => setSelected((at) => (at + step + props.items.length) % props.items.length);
  useKeys(
    {
      Escape: () => props.onClose(),
      ArrowDown: by(1),
      ArrowUp: by(-1),
      j: by(1),
      k: by(-1),
      Enter: () => run(props.items[selected()]),
    },
    true,
  );
  // Read now: in the next frame the menu may be closed and its properties disposed.
  const { near } = props;
  const place = (box: HTMLElement) =>
    requestAnimationFrame(() => {
      const at = near.getBoundingClientRect();
      const { width, height } = box.getBoundingClientRect();
      box.style.setProperty("left", `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`);
      box.style.setProperty(
        "top",
        `${at.bottom + height + 8 < innerHeight ? at.bottom + 2 : Math.max(8, at.top - height - 2)}px`,
      );
      box.classList.add("placed");
    });
  return (
    <Portal>
      <div class="menu-shade" onPointerDown={() => props.onClose()} />
      <div class="menu" role="menu" ref={place}>
        <For each={props.items}>
          {(item, index) => (
            <button
              type="button"
              role="menuitem"
              tabindex="-1"
              classList={{ selected: index() === selected() }}
              onPointerEnter={() => setSelected(index())}
              onClick={() => run(item)}
            >
              {item.label}
              {item.key === undefined ? null : <kbd>{item.key}</kbd>}
            </button>
          )}
        </For>
      </div>
    </Portal>
  );
}
