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

/** `usage`: the words of the command are off. `not_found`: nothing there, or too much. `failed`: the world said no. */
export type FailureCode = "usage" | "not_found" | "failed";
