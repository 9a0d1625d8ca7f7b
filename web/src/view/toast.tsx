import { Show } from "solid-js";
import { hideToast, toast } from "../state/toast.ts";

/** The current toast, with its action. */
export function ToastView() {
  return (
    <Show when={toast()}>
      {(shown) => (
        <div class="toast" classList={{ error: shown().isError }} role="status">
          <span>{shown().text}</span>
          <Show when={shown().action}>
            {(action) => (
              <button type="button" onClick={() => action().run()}>
                {action().label}
              </button>
            )}
          </Show>
          <button type="button" class="quiet" aria-label="Dismiss" onClick={hideToast}>
            ✕
          </button>
        </div>
      )}
    </Show>
  );
}
