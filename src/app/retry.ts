import { setTimeout as sleep } from "node:timers/promises";
import { faultKind } from "../stores/fault.ts";
import type { TroubleCode, Troubles } from "./troubles.ts";

export interface RetryOptions {
  readonly signal: AbortSignal;
  readonly troubles: Troubles;
  readonly talk: (words: string) => void;
  /** What is being done, behind "cannot". */
  readonly doing?: string;
  readonly code?: TroubleCode;
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A lock that is held for a moment is not worth a word. */
const WORTH_SHOWING_MS = 500;
const WORTH_A_WORD_MS = 2_000;

/** Does the work until it succeeds, however long that takes; null once the signal is aborted. Says so once if it takes long, and once when it is over. */
export async function persistently<T>(work: () => T | Promise<T>, options: RetryOptions): Promise<T | null> {
  const { signal, troubles, talk, doing = "read what is new", code = "not-up-to-date" } = options;
  const began = Date.now();
  let isTold = false;
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      const result = await work();
      troubles.set(code, null);
      if (isTold) talk(`can ${doing} again`);
      return result;
    } catch (error) {
      const { message, stack = message } = error as Error;
      if (Date.now() - began >= WORTH_SHOWING_MS) troubles.set(code, `cannot ${doing} (${message}); trying again until it works`, began);
      if (!isTold && Date.now() - began >= WORTH_A_WORD_MS) {
        isTold = true;
        talk(`cannot ${doing}, trying again until it works: ${faultKind(error) === null ? stack : message}`);
      }
    }
    await sleep(pause, null, { signal }).catch(() => null);
  }
  return null;
}
