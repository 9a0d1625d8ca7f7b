import { createSignal } from "solid-js";
import { listenWhileHidden } from "./server.ts";
import { showToast } from "./toast.ts";

const KEY = "retinue-notify";
const isPossible = () => "Notification" in window;
const isAllowed = () => isPossible() && Notification.permission === "granted";
const [isNotifying, setNotifying] = createSignal(localStorage.getItem(KEY) === "on" && isAllowed());

/** Whether desktop notifications are enabled by the user and allowed by the browser. */
export { isNotifying };

listenWhileHidden(isNotifying());

export async function notify(isEnabled: boolean): Promise<void> {
  if (isEnabled && !isPossible()) return showToast("This browser does not support notifications.", { isError: true });
  const allowed = isEnabled && (isAllowed() || (await Notification.requestPermission()) === "granted");
  if (isEnabled && !allowed) showToast("The browser blocks notifications of this page.", { isError: true });
  setNotifying(allowed);
  listenWhileHidden(allowed);
  localStorage.setItem(KEY, allowed ? "on" : "off");
}
