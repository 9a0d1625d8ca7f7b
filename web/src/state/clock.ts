import { createSignal, onCleanup } from "solid-js";

const [now, setNow] = createSignal(Date.now());

export { now };

let watchers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Runs the clock while the component lives. Without users there is no timer. */
export function useClock(): void {
  watchers += 1;
  setNow(Date.now());
  timer ??= setInterval(() => {
    if (document.visibilityState === "visible") setNow(Date.now());
  }, 1000);
  onCleanup(() => {
    watchers -= 1;
    if (watchers > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
}
