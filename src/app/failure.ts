import { type FaultKind, faultKind } from "../stores/fault.ts";

/** Something a person asked for could not be done. The CLI turns it into words and an exit code in one place. */
export class Failure extends Error {
  readonly code: FailureCode;
  /** What to do next; shown below the message, a line each. */
  readonly next: readonly string[];

  constructor(code: FailureCode, message: string, next: readonly string[] = [], cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "Failure";
    this.code = code;
    this.next = next;
  }
}

/** `usage`: the words of the command are off. `not_found`: nothing there, or too much. `failed`: the world said no. `unavailable`: not at the moment. */
export type FailureCode = "usage" | "not_found" | "failed" | "unavailable";

const NEXT: Readonly<Record<FaultKind, string>> = {
  busy: "another process is using it; try again in a moment",
  unwritable: "make room, or make it writable, and try again",
  damaged: "it will be repaired or made anew; try again",
};

/** A failure of the machine, in words for a person; null for a bug. */
export function asFailure(error: unknown, doing?: string): Failure | null {
  if (error instanceof Failure) return error;
  const kind = faultKind(error);
  if (kind === null) return null;
  const { message } = error as Error;
  return new Failure("unavailable", doing === undefined ? message : `${doing}: ${message}`, [NEXT[kind]], error);
}
