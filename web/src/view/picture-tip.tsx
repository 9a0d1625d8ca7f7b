import { createEffect, type JSX } from "solid-js";

const MARGIN = 8;

/** A tooltip that follows the pointer, for pictures on a canvas. */
export function PictureTip(props: { x: number; y: number; children: JSX.Element }) {
  return (
    <div
      class="tip placed picture-tip"
      role="tooltip"
      ref={(box) =>
        createEffect(() => {
          const { x, y } = props;
          // The box has its size only after its content is rendered.
          requestAnimationFrame(() => placeAt(box, x, y));
        })
      }
    >
      {props.children}
    </div>
  );
}

/** Below and to the right of the pointer; above it if there is no room below. */
function placeAt(box: HTMLElement, x: number, y: number): void {
  const { width, height } = box.getBoundingClientRect();
  const top = y + 18 + height < innerHeight ? y + 18 : Math.max(MARGIN, y - height - 12);
  box.style.setProperty("left", `${Math.max(MARGIN, Math.min(x + 14, innerWidth - width - MARGIN))}px`);
  box.style.setProperty("top", `${top}px`);
}
