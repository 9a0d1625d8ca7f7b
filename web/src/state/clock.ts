import { createSignal, onCleanup } from "solid-js";

const [now, setNow] = createSignal(Date.now());

export { now };

let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Updates `now` every second while the component is mounted. The timer is shared and stops with its last user. */
export function useClock(): void {
  users += 1;
  setNow(Date.now());
  timer ??= setInterval(() => {
    if (document.visibilityState === "visible") setNow(Date.now());
  }, 1000);
  onCleanup(() => {
    users -= 1;
    if (users > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
}
