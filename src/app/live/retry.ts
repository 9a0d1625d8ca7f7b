import { setTimeout as sleep } from "node:timers/promises";
import { faultKind } from "../../stores/fault.ts";
import type { TroubleCode, Troubles } from "./troubles.ts";

export interface RetryOptions {
  readonly signal: AbortSignal;
  readonly troubles: Troubles;
  readonly notify: (text: string) => void;
  /** The operation, as in "cannot <doing>". */
  readonly doing?: string;
  readonly code?: TroubleCode;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** Shorter failures, such as a held lock, are not reported. */
const WORTH_SHOWING_MS = 500;
const WORTH_REPORTING_MS = 2_000;

/**
 * Repeats the work until it succeeds; null if the signal is aborted. Reports once if it takes long, and once when it
 * has recovered.
 */
export async function persistently<T>(work: () => T | Promise<T>, options: RetryOptions): Promise<T | null> {
  const { signal, troubles, notify, doing = "read what is new", code = "not-up-to-date" } = options;
  const began = Date.now();
  let isReported = false;
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const result = await work();
      troubles.set(code, null);
      if (isReported) notify(`can ${doing} again`);
      return result;
    } catch (error) {
      const { message, stack = message } = error as Error;
      if (Date.now() - began >= WORTH_SHOWING_MS) troubles.set(code, `cannot ${doing} (${message}); retrying`, began);
      if (!isReported && Date.now() - began >= WORTH_REPORTING_MS) {
        isReported = true;
        notify(`cannot ${doing}, retrying: ${faultKind(error) === null ? stack : message}`);
      }
    }
    await sleep(pause, null, { signal }).catch(() => null);
  }
  return null;
}
