/** Input that could not be used. Counted and shown, never thrown or dropped silently. */
export interface Problem {
  readonly code: ProblemCode;
  /** File and line, or the agent concerned. */
  readonly where: string;
  readonly detail: string;
  /** Number of occurrences, default 1. A file with a million bad lines yields only a few problems. */
  readonly times?: number;
}

export type Severity = "info" | "data-loss" | "error";

/** Severity and explanation of every code, shown by `retinue doctor`. */
export const PROBLEMS = {
  "file-unreadable": ["error", "A file could not be read; its content is missing from the tree."],
  "line-not-json": ["data-loss", "A line is not valid JSON and was skipped."],
  "line-unfinished": ["info", "The last line of a file is incomplete; it will be read when it is complete."],
  "line-too-long": ["data-loss", "A line exceeds the maximum record size and was skipped."],
  "line-zeroes": ["data-loss", "A crash left zero bytes in a file; the data in their place is lost."],
  "file-empty": ["info", "A transcript is empty."],
  "link-not-followed": [
    "info",
    "A symbolic link is not followed; its target is missing, unless it is in a folder that is read anyway.",
  ],
  "database-unreadable": [
    "error",
    "A database could not be read, or not completely; its content is missing from the tree.",
  ],
  "database-unknown": ["error", "A database has an unknown schema; its content is missing from the tree."],
  "database-busy": ["info", "A database could not be read while its product was writing; it will be read next time."],
  "log-without-database": [
    "data-loss",
    "The write-ahead log of a database exists without its database, and cannot be read alone.",
  ],
  "record-too-large": ["data-loss", "A record of a database exceeds the maximum record size and was skipped."],
  "text-not-utf8": [
    "data-loss",
    "Some bytes of a record are not UTF-8 and are shown as \ufffd; the rest of it was read.",
  ],
  "record-unknown": ["info", "A record has a type that this version of retinue does not know; it was skipped."],
  "record-malformed": ["data-loss", "A record lacks a required field and was skipped."],
  "agent-file-unmarked": [
    "error",
    "A file is named like an agent's, but its records are not marked as an agent's; it is not shown as an agent.",
  ],
  "agent-file-foreign": [
    "error",
    "A file is among the agents of one session but names another session; it is not shown as an agent.",
  ],
  "output-tokens-partial": [
    "info",
    "This version of the product does not record final output token counts; the numbers shown are too small.",
  ],
  "thread-missing": ["data-loss", "Agents name a thread whose transcript is missing; they are listed under it."],
  "parent-conflict": ["info", "Equally strong evidence names different parents; the earliest was taken."],
  "parent-cycle": ["error", "Agents name each other as parents in a cycle; it was cut at the weakest evidence."],
  "index-set-aside": [
    "info",
    "The index was damaged; it was moved aside and rebuilt from the transcripts. The old file may be deleted.",
  ],
  "index-unusable": ["error", "The index cannot be used; everything is read into memory instead, which takes longer."],
  "decisions-set-aside": [
    "data-loss",
    "The file with links, cards and the outbox was damaged; it was moved aside and replaced by its readable data or the last good copy.",
  ],
  "decisions-unreadable": [
    "error",
    "The file with links, cards and the outbox cannot be read; the last known manual links are used.",
  ],
  "folders-not-watched": [
    "info",
    "The limit of watched folders is reached; the others are polled, so changes there are noticed later.",
  ],
  "limits-not-enforced": [
    "error",
    "Limits could not be enforced because of an error; agents continued as without limits.",
  ],
  "hook-broken": ["error", "An installed hook of retinue does not work; the product continues without it."],
  "hook-mended": [
    "info",
    "The program that installed hooks call could not start retinue any more; it was written again, so they work now.",
  ],
  "hook-outdated": ["info", "An installed hook is older than this version of retinue and should be replaced."],
  "manual-link-unknown": ["info", "A manual link names an agent that does not exist; it has no effect."],
} as const satisfies Record<string, readonly [Severity, string]>;

export type ProblemCode = keyof typeof PROBLEMS;
