import { createMemo } from "solid-js";

/** Binds a style property to a fraction, in percent. By script, because the content security policy forbids inline styles. */
export function sized(element: HTMLElement, property: "width" | "height" | "left", part: () => number): void {
  createMemo(() => element.style.setProperty(property, `${Math.max(0, Math.round(part() * 10_000) / 100)}%`));
}
