import { setFlagsFromString } from "node:v8";

const [USUAL_PERCENT, LARGE_PERCENT] = [25, 300];

/**
 * Sets how much the heaps of this process may grow before V8 collects them: usually little, so that memory stays the
 * same over any number of requests. V8 counts the buffers of forwarded chunks as growth, so while large bodies pass it
 * would collect the whole heap every few megabytes.
 */
export function setHeapGrowth(isLarge: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${isLarge ? LARGE_PERCENT : USUAL_PERCENT}`);
}
