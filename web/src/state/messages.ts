import { type Accessor, createEffect, createSignal, on, onCleanup } from "solid-js";
import type { Message } from "../data/types.ts";
import { api } from "./server.ts";
import type { Thread } from "./thread.ts";

const AGAIN_MS = 1_000;

/** What the agents of a thread wrote to each other; asked for again after something changed. */
export function useMessages(thread: Thread): Accessor<readonly Message[]> {
  const [messages, setMessages] = createSignal<readonly Message[]>([], { equals: (a, b) => JSON.stringify(a) === JSON.stringify(b) });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let asking = new AbortController();
  const ask = () => {
    timer = undefined;
    const root = thread.root();
    if (root === null) return;
    asking.abort();
    asking = new AbortController();
    // The tree is shown without them; what is wrong with the server is said elsewhere.
    api.messages(root, asking.signal).then(
      ({ items }) => setMessages(items),
      () => {},
    );
  };
  createEffect(on(thread.root, ask));
  createEffect(
    on(
      thread.pulse,
      () => {
        timer ??= setTimeout(ask, AGAIN_MS);
      },
      { defer: true },
    ),
  );
  onCleanup(() => {
    clearTimeout(timer);
    asking.abort();
  });
  return messages;
}
