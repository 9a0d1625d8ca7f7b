import { Show } from "solid-js";
import type { ApiError } from "../data/api.ts";

/** An error response, with what to do next. */
export function Failure(props: { error: ApiError; onRetry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p class="big">{props.error.message}</p>
      <Show when={props.error.next}>{(next) => <p class="muted">{next()}</p>}</Show>
      <p class="actions">
        <Show when={props.onRetry}>
          {(retry) => (
            <button type="button" onClick={() => retry()()}>
              Try again
            </button>
          )}
        </Show>
        <a href="#/">All threads</a>
      </p>
    </div>
  );
}
