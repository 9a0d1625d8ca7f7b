import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Enough for what is made and dropped while a few lines are read. */
const ENOUGH = 16 << 20;
let isHeld = false;

/**
 * V8 lets the part of the heap for short-lived objects grow to 128 MB where much is made and dropped, and keeps it. A process that stays, or that reads a
 * huge file, must not: from a size that is enough on, it grows no more. (The option for its largest size counts only when a process is started.)
 */
export function holdYoungHeap(): void {
  if (isHeld) return;
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  if (young === undefined || young.space_size < ENOUGH) return;
  setFlagsFromString("--semi-space-growth-factor=1");
  isHeld = true;
}
