import { type Accessor, createMemo } from "solid-js";
import type { Thread } from "../state/thread.ts";

/** Gives neighbouring indices distant hues. */
const GOLDEN_ANGLE = 137.508;
export const hueAt = (index: number) => Math.round(40 + index * GOLDEN_ANGLE) % 360;

/** A hue for every agent of a thread, by start time. The lightness is in the style sheet. */
export function useHues(thread: Thread): Accessor<ReadonlyMap<string, number>> {
  return createMemo(() => {
    thread.shape();
    const began = (uri: string) => thread.set.get(uri)?.startedAt ?? "~";
    const uris = thread.set
      .subtree(thread.root() ?? "")
      .toSorted((a, b) => (began(a) < began(b) ? -1 : began(a) > began(b) ? 1 : 0));
    return new Map(uris.map((uri, index) => [uri, hueAt(index)]));
  });
}
