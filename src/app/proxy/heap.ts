import { setFlagsFromString } from "node:v8";

const [USUAL_PERCENT, BULK_PERCENT] = [25, 300];

/**
 * Sets how much the heaps of this process may grow before V8 collects them: usually little, so that memory stays the
 * same over any number of requests. V8 counts the buffers of forwarded chunks as growth, so while a bulk passes it would
 * collect the whole heap every few megabytes.
 */
export function setHeapGrowth(isBulk: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${isBulk ? BULK_PERCENT : USUAL_PERCENT}`);
}
