import { createSignal } from "solid-js";
import { listenWhileHidden } from "./server.ts";
import { showToast } from "./toast.ts";

const KEY = "retinue-notify";
const isSupported = () => "Notification" in window;
const isAllowed = () => isSupported() && Notification.permission === "granted";
const [isNotifying, setSignal] = createSignal(localStorage.getItem(KEY) === "on" && isAllowed());

/** Whether desktop notifications are enabled by the user and allowed by the browser. */
export { isNotifying };

listenWhileHidden(isNotifying());

/** Turns desktop notifications on or off; asks the browser for permission if necessary. */
export async function setNotifying(isEnabled: boolean): Promise<void> {
  if (isEnabled && !isSupported()) return showToast("This browser does not support notifications.", { isError: true });
  const allowed = isEnabled && (isAllowed() || (await Notification.requestPermission()) === "granted");
  if (isEnabled && !allowed) showToast("The browser blocks notifications from this page.", { isError: true });
  setSignal(allowed);
  listenWhileHidden(allowed);
  localStorage.setItem(KEY, allowed ? "on" : "off");
}
