import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Enough for what is made and dropped while a few lines are read. */
const ENOUGH = 16 << 20;
let isBounded = false;

/**
 * Keeps the heap of a process that stays, or that reads a huge file, close to what it holds. V8 lets the part for short-lived objects grow to 128 MB where
 * much is made and dropped, and the rest to several times what is alive before it is collected. (The options for their largest sizes count only when a
 * process is started, and a process that reaches them dies.)
 */
export function boundHeap(): void {
  if (isBounded) return;
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
  if (young === undefined || young.space_size < ENOUGH) return;
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=40");
  isBounded = true;
}
