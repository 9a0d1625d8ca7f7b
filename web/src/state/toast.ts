import { createSignal } from "solid-js";

export interface Toast {
  readonly text: string;
  readonly isError: boolean;
  readonly action: { readonly label: string; readonly run: () => void } | null;
}

const SHOWN_MS = 10_000;
const [toast, setToast] = createSignal<Toast | null>(null);

export { toast };

let timer: ReturnType<typeof setTimeout> | undefined;

export function showToast(text: string, more: Partial<Omit<Toast, "text">> = {}): void {
  clearTimeout(timer);
  setToast({ text, isError: false, action: null, ...more });
  timer = setTimeout(() => setToast(null), SHOWN_MS);
}

export function hideToast(): void {
  clearTimeout(timer);
  setToast(null);
}
