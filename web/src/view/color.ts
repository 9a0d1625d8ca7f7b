import { type Accessor, createMemo } from "solid-js";
import type { Thread } from "../state/thread.ts";

/** Successive multiples of the golden angle are far apart on the colour wheel. */
const GOLDEN_ANGLE = 137.508;
export const hueAt = (index: number) => Math.round(40 + index * GOLDEN_ANGLE) % 360;

/** A hue for every agent of a thread, in the order of their start. The style sheet adds lightness and chroma. */
export function useHues(thread: Thread): Accessor<ReadonlyMap<string, number>> {
  return createMemo(() => {
    thread.shape();
    const startOf = (uri: string) => thread.set.get(uri)?.startedAt ?? "~";
    const uris = thread.set
      .subtree(thread.root() ?? "")
      .toSorted((a, b) => (startOf(a) < startOf(b) ? -1 : startOf(a) > startOf(b) ? 1 : 0));
    return new Map(uris.map((uri, index) => [uri, hueAt(index)]));
  });
}
