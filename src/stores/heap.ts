import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Enough for the short-lived objects of a few lines. */
const ENOUGH = 48 << 20;
/** Above this resident size, the old generation is collected more often. */
const MUCH = 120 << 20;
let isYoungBounded = false;
let isOldBounded = false;
let isReading = false;

/**
 * Keeps the heap of a long-running process, or of one that reads much, close to its live size. Called repeatedly.
 * Otherwise V8 lets the young generation grow to 128 MB and the old one to several times its live size before it
 * collects. (The options for maximum sizes only apply at process start, and a process that reaches them dies.)
 */
export function boundHeap(): void {
  if (!isYoungBounded && isYoungLarge()) {
    setFlagsFromString("--semi-space-growth-factor=1");
    isYoungBounded = true;
  }
  if (!isOldBounded && process.memoryUsage.rss() > MUCH) {
    setFlagsFromString("--heap-growing-percent=25");
    isOldBounded = true;
  }
}

/** The same for a process that mostly reads: there, parallel scavenging takes more CPU in total than it saves. */
export function boundReading(): void {
  if (!isReading) setFlagsFromString("--no-parallel-scavenge");
  isReading = true;
  boundHeap();
}

function isYoungLarge(): boolean {
  return (getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0) >= ENOUGH;
}
