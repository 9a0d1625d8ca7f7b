import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import type { Message } from "../data/types.ts";
import { api } from "./server.ts";
import type { Thread } from "./thread.ts";

const REFRESH_MS = 1_000;

/** The messages between the agents of a thread. Fetched again after changes, at most once a second. */
export function useMessages(thread: Thread): Accessor<readonly Message[]> {
  const [messages, setMessages] = createSignal<readonly Message[]>([], {
    equals: (a, b) => JSON.stringify(a) === JSON.stringify(b),
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let aborter = new AbortController();
  const load = () => {
    timer = undefined;
    const root = thread.root();
    if (root === null) return;
    aborter.abort();
    aborter = new AbortController();
    // The graph is complete without messages; an unreachable server is reported by the thread.
    api.messages(root, aborter.signal).then(
      ({ items }) => setMessages(items),
      () => {},
    );
  };
  createEffect(on(thread.root, load));
  createEffect(
    on(
      thread.pulse,
      () => {
        timer ??= setTimeout(load, REFRESH_MS);
      },
      { defer: true },
    ),
  );
  onCleanup(() => {
    clearTimeout(timer);
    aborter.abort();
  });
  return messages;
}
