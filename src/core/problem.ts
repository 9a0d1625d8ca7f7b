/** Something in the input that could not be used as it stands. Counted and shown, never thrown and never dropped in silence. */
export interface Problem {
  readonly code: ProblemCode;
  /** File and line, or the agent concerned. */
  readonly where: string;
  readonly detail: string;
  /** How many it stands for; 1 where it is not said. A file of a million bad lines is told in a few. */
  readonly times?: number;
}

export type Severity = "info" | "data-loss" | "error";

/** Every code with its severity and a sentence for the person who reads `retinue doctor`. */
export const PROBLEMS = {
  "file-unreadable": ["error", "A file could not be read; what it holds is missing from the tree."],
  "line-not-json": ["data-loss", "A line is not valid JSON and was skipped."],
  "line-unfinished": ["info", "The last line of a file is not finished yet; it will be read when it is."],
  "line-too-long": ["data-loss", "A line is longer than one record can be and was skipped."],
  "line-zeroes": ["data-loss", "A stretch of zeroes stands where something was to be written, as a crash leaves it; what it would have been is lost."],
  "file-empty": ["info", "A transcript is empty; nothing was written to it yet, or what was is lost."],
  "link-not-followed": ["info", "A link is not followed; what lies behind it is missing, unless it lies in a folder that is looked at anyway."],
  "database-unreadable": ["error", "A database could not be read, or not all of it; what is missing is missing from the tree."],
  "database-unknown": ["error", "A database has another form than any version this retinue knows; what it holds is missing from the tree."],
  "database-busy": ["info", "A database could not be read while its product was writing; it is tried again the next time."],
  "log-without-database": ["data-loss", "The write-ahead log of a database lies there without its database, and cannot be read alone."],
  "record-too-large": ["data-loss", "A record of a database is larger than one record can be and was skipped."],
  "text-not-utf8": ["data-loss", "Some bytes of a record are not UTF-8 and are shown as \ufffd; the rest of it was read."],
  "record-unknown": ["info", "A record of a type this version of retinue does not know; it was passed over."],
  "record-malformed": ["data-loss", "A record lacks what its type must have and was skipped."],
  "agent-file-not-sidechain": ["error", "A file is named like an agent's but its records do not say they are one's; it is not shown as an agent."],
  "agent-file-foreign": ["error", "A file lies among the agents of one session but names another session; it is not shown as an agent."],
  "output-tokens-partial": ["info", "This version of the product records no final output token counts; the numbers shown are too small."],
  "thread-missing": ["data-loss", "Agents name a thread whose own transcript is gone; they are listed under it all the same."],
  "parent-conflict": ["info", "Equally strong evidence names different parents; the earliest was taken."],
  "parent-cycle": ["error", "Agents name each other as parents in a circle; it was cut at the weakest evidence."],
  "index-set-aside": ["info", "The index was damaged; it was set aside and made anew from the transcripts. The file set aside may be deleted."],
  "index-unusable": ["error", "The index cannot be used; everything is read into memory instead, which takes longer."],
  "decisions-set-aside": [
    "data-loss",
    "The file with links, cards and the outbox was damaged; it was set aside, and what could be saved, or the last good copy, took its place.",
  ],
  "decisions-unreadable": ["error", "The file with links, cards and the outbox cannot be read; manual links are as last known."],
  "folders-not-watched": ["info", "The system watches no more folders; those that it does not watch are polled, so that changes there show later."],
  "manual-link-unknown": ["info", "A manual link names an agent that no record knows; it has no effect."],
} as const satisfies Record<string, readonly [Severity, string]>;

export type ProblemCode = keyof typeof PROBLEMS;
