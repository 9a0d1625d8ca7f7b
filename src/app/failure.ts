import { type FaultKind, faultKind } from "../stores/fault.ts";

/** An expected error that is shown to the user. The CLI turns it into a message and an exit code in one place. */
export class Failure extends Error {
  readonly code: FailureCode;
  /** Suggested next steps, one line each. */
  readonly next: readonly string[];

  constructor(code: FailureCode, message: string, next: readonly string[] = [], cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "Failure";
    this.code = code;
    this.next = next;
  }
}

/**
 * `usage`: invalid arguments. `not_found`: no match, or several. `failed`: the operation failed. `unavailable`: a
 * temporary error.
 */
export type FailureCode = "usage" | "not_found" | "failed" | "unavailable";

const NEXT: Readonly<Record<FaultKind, string>> = {
  busy: "another process is using it; try again in a moment",
  unwritable: "free disk space or make it writable, then try again",
  damaged: "it will be repaired or rebuilt; try again",
  outdated: "it changed while it was read; try again",
  unreachable:
    "check that the database runs and its address is right; requests are answered again as soon as it is back",
};

/** A failure for errors of the machine (disk, lock, damage); null for a bug. */
export function asFailure(error: unknown, doing?: string): Failure | null {
  if (error instanceof Failure) return error;
  const kind = faultKind(error);
  if (kind === null) return null;
  const { message } = error as Error;
  return new Failure("unavailable", doing === undefined ? message : `${doing}: ${message}`, [NEXT[kind]], error);
}
