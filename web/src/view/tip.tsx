import { createSignal, type JSX, onCleanup, Show } from "solid-js";
import { Portal } from "solid-js/web";

interface Tip {
  readonly near: Element;
  readonly content: () => JSX.Element;
}

const [tip, setTip] = createSignal<Tip | null>(null);
const DELAY_MS = 250;
let timer: ReturnType<typeof setTimeout> | undefined;

export function showTip(near: Element, content: () => JSX.Element, delay = 0): void {
  clearTimeout(timer);
  timer = setTimeout(() => setTip({ near, content }), delay);
}

export function hideTip(): void {
  clearTimeout(timer);
  setTip(null);
}

export const isTipShown = () => tip() !== null;

/** Event handlers that show a tooltip on hover and keyboard focus. */
export function tooltip(content: () => JSX.Element) {
  onCleanup(hideTip);
  return {
    onPointerEnter: (event: PointerEvent) => {
      if (event.pointerType !== "touch") showTip(event.currentTarget as Element, content, DELAY_MS);
    },
    onPointerLeave: hideTip,
    onFocusIn: (event: FocusEvent) => {
      if ((event.target as Element).matches(":focus-visible"))
        showTip(event.currentTarget as Element, content, DELAY_MS);
    },
    onFocusOut: hideTip,
  };
}

/** The tooltip; there is at most one on a page. */
export function TipLayer() {
  return (
    <Show when={tip()} keyed>
      {(shown) => (
        <Portal>
          <div class="tip" role="tooltip" ref={(box) => requestAnimationFrame(() => place(box, shown.near))}>
            {shown.content()}
          </div>
        </Portal>
      )}
    </Show>
  );
}

const MARGIN = 8;

function place(box: HTMLElement, near: Element): void {
  const at = near.getBoundingClientRect();
  const { width, height } = box.getBoundingClientRect();
  const below = at.bottom + MARGIN + height < innerHeight;
  const left = Math.max(MARGIN, Math.min(at.left, innerWidth - width - MARGIN));
  const top = below ? at.bottom + 4 : Math.max(MARGIN, at.top - height - 4);
  box.style.setProperty("left", `${left}px`);
  box.style.setProperty("top", `${top}px`);
  box.classList.add("placed");
}
