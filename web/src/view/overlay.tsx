import { type JSX, onCleanup, onMount } from "solid-js";
import { Portal } from "solid-js/web";
import { useKeys } from "../state/keys.ts";

/** A dialog or drawer: traps the focus, closes with Escape, and restores the focus. */
export function Overlay(props: { label: string; class?: string; onClose: () => void; children: JSX.Element }) {
  let box: HTMLDivElement | undefined;
  const before = document.activeElement;
  useKeys({ Escape: () => props.onClose() }, true);
  onMount(() => (box?.querySelector<HTMLElement>("[data-first]") ?? box)?.focus());
  onCleanup(() => {
    if (before instanceof HTMLElement) before.focus();
  });
  const trapFocus = (event: KeyboardEvent) => {
    if (event.key !== "Tab" || box === undefined) return;
    const stops = [
      ...box.querySelectorAll<HTMLElement>("a[href], button:not([disabled]), input, select, [tabindex='0']"),
    ];
    const [first, last] = [stops[0], stops.at(-1)];
    if (first === undefined || last === undefined) return;
    if (event.shiftKey && (document.activeElement === first || document.activeElement === box)) last.focus();
    else if (!event.shiftKey && document.activeElement === last) first.focus();
    else return;
    event.preventDefault();
  };
  return (
    <Portal>
      <div
        class={`overlay ${props.class ?? ""}`}
        onPointerDown={(event) => event.target === event.currentTarget && props.onClose()}
      >
        <div
          class="overlay-box"
          role="dialog"
          aria-modal="true"
          aria-label={props.label}
          tabindex="-1"
          ref={box}
          onKeyDown={trapFocus}
        >
          <button type="button" class="quiet close" aria-label="Close" onClick={() => props.onClose()}>
            ✕
          </button>
          {props.children}
        </div>
      </div>
    </Portal>
  );
}
