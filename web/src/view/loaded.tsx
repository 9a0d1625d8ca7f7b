import { type JSX, Show } from "solid-js";
import type { Refreshed } from "../state/refreshed.ts";
import { Failure } from "./failure.tsx";

/** The content of a response, or the error. A failed refresh keeps the previous content below the error. */
export function Loaded<T>(props: { of: Refreshed<T>; children: (value: () => T) => JSX.Element }) {
  return (
    <>
      <Show when={props.of.error()}>{(error) => <Failure error={error()} onRetry={props.of.reload} />}</Show>
      <Show
        when={props.of.value()}
        fallback={
          <Show when={props.of.error() === null}>
            <p class="muted nothing" role="status">
              Loading …
            </p>
          </Show>
        }
      >
        {(value) => props.children(value as () => T)}
      </Show>
    </>
  );
}
