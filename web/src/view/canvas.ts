import { type Accessor, createEffect, createSignal, on, onCleanup, onMount } from "solid-js";
import { theme } from "../state/theme.ts";

export const FONT_FAMILY = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif';
/** For labels on a canvas. */
export const CANVAS_FONT = `12px ${FONT_FAMILY}`;

export type Palette<Name extends string> = Readonly<Record<Name, string>>;

/** Colours of the style sheet as computed values, for a canvas or an SVG. They follow light and dark mode. */
export function usePalette<Name extends string>(names: readonly Name[]): Accessor<Palette<Name>> {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = createSignal(media.matches);
  const follow = () => setDark(media.matches);
  media.addEventListener("change", follow);
  onCleanup(() => media.removeEventListener("change", follow));
  const [palette, setPalette] = createSignal(readPalette(names));
  // Later, because the theme attribute is set after the signal.
  createEffect(on([theme, dark], () => queueMicrotask(() => setPalette(() => readPalette(names))), { defer: true }));
  return palette;
}

/** Variables use `light-dark()`, which only a computed style resolves. */
function readPalette<Name extends string>(names: readonly Name[]): Palette<Name> {
  const probe = document.body.appendChild(document.createElement("span"));
  const read = (name: Name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const found = Object.fromEntries(names.map((name) => [name, read(name)])) as Palette<Name>;
  probe.remove();
  return found;
}

/** Resizes a canvas to its displayed size and pixel ratio, and returns its context in CSS pixels. */
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

/** Paints once per frame in which something changed. `scene` is called synchronously to track its dependencies. */
export function usePainting<Scene>(scene: () => Scene, paint: (scene: Scene) => void): void {
  let frame = 0;
  let newest: Scene;
  createEffect(() => {
    newest = scene();
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      paint(newest);
    });
  });
  onCleanup(() => cancelAnimationFrame(frame));
}

/** The size of an element, observed while the component is mounted. */
export function useSize(
  element: () => HTMLElement | undefined,
): Accessor<{ readonly width: number; readonly height: number }> {
  const [size, setSize] = createSignal({ width: 0, height: 0 });
  onMount(() => {
    const observed = element();
    if (observed === undefined) return;
    const measure = () => setSize({ width: observed.clientWidth, height: observed.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(observed);
    measure();
    onCleanup(() => observer.disconnect());
  });
  return size;
}
