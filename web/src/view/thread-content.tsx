import { type JSX, Show } from "solid-js";
import type { Thread } from "../state/thread.ts";
import { Failure } from "./failure.tsx";

/** The content of a page about a thread, or the error if the thread cannot be loaded. */
export function ThreadContent(props: { thread: Thread; children: JSX.Element }) {
  return (
    <Show when={props.thread.error()} fallback={props.children}>
      {(error) => <Failure error={error()} onRetry={() => void props.thread.reload()} />}
    </Show>
  );
}
