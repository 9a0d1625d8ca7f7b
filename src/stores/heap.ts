import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Size of the young generation from which it no longer grows: small enough for the caches of the processor. */
const MAX_YOUNG_BYTES = 24 << 20;
/** Resident sizes above which the old generation may grow by so many percent before it is collected. */
const READING = [
  { above: 120 << 20, percent: 100 },
  { above: 160 << 20, percent: 25 },
] as const;
const LASTING = [{ above: 120 << 20, percent: 25 }] as const;
/** Number of calls before a function is compiled by V8's two optimizing compilers, in a process that mostly reads. */
const CALLS_WHILE_READING = ["--invocation-count-for-maglev=1000", "--invocation-count-for-turbofan=200000"];
/** V8's defaults. */
const CALLS = ["--invocation-count-for-maglev=400", "--invocation-count-for-turbofan=3000"];
let isYoungBounded = false;
let oldGrowth = Number.POSITIVE_INFINITY;
let isReading = false;
let isLasting = false;
const CHECK_EVERY_MS = 250;
const CHECK_EVERY_MS_WAITING = 2_000;
let checkedAt = Number.NEGATIVE_INFINITY;

/**
 * Keeps the heap of a long-running process, or of one that reads much, close to its live size. Called repeatedly.
 * Otherwise V8 lets the young generation grow to 128 MB and the old one to several times its live size before it
 * collects. (The options for maximum sizes only apply at process start, and a process that reaches them dies.)
 */
export function boundHeap(growth: typeof READING | typeof LASTING = LASTING, everyMs = CHECK_EVERY_MS): void {
  // A server also reads: its stricter bound applies even if the bound for reading was set first.
  if (growth === LASTING && !isLasting) {
    isLasting = true;
    if (isReading) setFlagsFromString("--incremental-marking");
    if (isReading) for (const flag of CALLS) setFlagsFromString(flag);
  }
  // Asking the operating system takes as long as a small write.
  const now = performance.now();
  if (now - checkedAt < everyMs) return;
  checkedAt = now;
  if (!isYoungBounded && isYoungLarge()) {
    setFlagsFromString("--semi-space-growth-factor=1");
    isYoungBounded = true;
  }
  const resident = process.memoryUsage.rss();
  const percent = (isLasting ? LASTING : growth).findLast(({ above }) => resident > above)?.percent ?? oldGrowth;
  if (percent >= oldGrowth) return;
  setFlagsFromString(`--heap-growing-percent=${percent}`);
  oldGrowth = percent;
}

/** Bounds the heap of a process that waits for single records, which create little garbage. */
export function boundWaiting(): void {
  boundHeap(LASTING, CHECK_EVERY_MS_WAITING);
}

/**
 * Bounds the heap of a process that mostly reads. There, parallel scavenging takes more CPU in total than it saves, and so
 * do a heap that is collected often while it is small, and marking in steps, which slows down every write to an object.
 * Its functions are compiled only after many more calls: for 100 MB of records, the compilers took a quarter of the CPU,
 * and saved less.
 */
export function boundReading(): void {
  if (!isReading) setFlagsFromString("--no-parallel-scavenge");
  if (!isReading && !isLasting) setFlagsFromString("--no-incremental-marking");
  if (!isReading && !isLasting) for (const flag of CALLS_WHILE_READING) setFlagsFromString(flag);
  isReading = true;
  boundHeap(READING);
}

function isYoungLarge(): boolean {
  return (
    (getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? 0) >= MAX_YOUNG_BYTES
  );
}
