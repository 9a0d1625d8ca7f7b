import { createSignal } from "solid-js";

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "retinue-theme";
const stored = THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "auto";
const [theme, setSignal] = createSignal<Theme>(stored);

export { theme };

export function setTheme(next: Theme): void {
  setSignal(next);
  localStorage.setItem(KEY, next);
  applyTheme();
}

/** The style sheet follows the system's colour scheme unless this attribute overrides it. */
export function applyTheme(): void {
  document.documentElement.dataset.theme = theme();
}
