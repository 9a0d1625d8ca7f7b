import { createSignal } from "solid-js";
import { listenWhileHidden } from "./server.ts";
import { tell } from "./toast.ts";

const KEY = "retinue-notify";
const isPossible = () => "Notification" in window;
const isAllowed = () => isPossible() && Notification.permission === "granted";
const [isNotifying, setNotifying] = createSignal(localStorage.getItem(KEY) === "on" && isAllowed());

/** Whether notices are shown on the desktop: only where a person asked for it and the browser was allowed to. */
export { isNotifying };

listenWhileHidden(isNotifying());

export async function notify(wanted: boolean): Promise<void> {
  if (wanted && !isPossible()) return tell("This browser shows no notifications.", { isError: true });
  const allowed = wanted && (isAllowed() || (await Notification.requestPermission()) === "granted");
  if (wanted && !allowed) tell("The browser does not allow notifications from here.", { isError: true });
  setNotifying(allowed);
  listenWhileHidden(allowed);
  localStorage.setItem(KEY, allowed ? "on" : "off");
}
