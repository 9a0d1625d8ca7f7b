import type { AgentKey } from "../facts/ids.ts";

/**
 * How to continue one agent of a product as a session of its own. Pure: it returns what to run and which files to write
 * first. The agent's own records are only read.
 */
export interface Attach {
  /**
   * The command that continues the agent with its history. If it needs transcripts, it yields their paths, and gets
   * their records, or null for a file that does not exist. If the product cannot do it, the reason is returned, and
   * `begin` is used instead.
   */
  resume(agent: AttachedAgent, ask: AttachRequest): Resuming | Resumption | Unable;
  /** The command that begins a new session with this message. */
  begin(message: string, agent: AttachedAgent, ask: AttachRequest): readonly string[];
}

export type Resuming = Generator<string, Resumption | Unable, readonly TranscriptRecord[] | null>;

export interface Resumption {
  readonly command: readonly string[];
  /** Files to write first; their paths come from `AttachRequest.copyAt`. */
  readonly copies: readonly TranscriptCopy[];
  /** Differences from the agent's own setup, one sentence each. */
  readonly limits: readonly string[];
}

/** Why the product cannot continue this agent, in one sentence. */
export interface Unable {
  readonly unable: string;
}

export interface TranscriptCopy {
  readonly path: string;
  /** One JSON text per record. */
  readonly records: readonly string[];
}

/** A line of a transcript. */
export interface TranscriptRecord {
  readonly bytes: Uint8Array;
  readonly line: number;
  readonly offset: number;
}

export interface AttachedAgent {
  readonly key: AgentKey;
  /** The product's own ids. The names below can be arguments of a command. */
  readonly thread: string;
  readonly agent: string | null;
  readonly type: string | null;
  /** Whether it is a sub-agent. */
  readonly isBelow: boolean;
  readonly isRunning: boolean;
  /** The model of its last model call, and that model's vendor, if recorded. */
  readonly model: string | null;
  readonly vendor: string | null;
  /** Its transcripts. Those in the product's own folders come first. */
  readonly files: readonly AttachedFile[];
  /** The transcripts of the agents above it, the parent's first. */
  readonly above: readonly string[];
}

export interface AttachedFile {
  readonly path: string;
  /** The id of the database object, if the transcript is one. */
  readonly object: string | null;
  /** It is in a folder of the product, so that the product can find it. */
  readonly isOwn: boolean;
}

export interface AttachRequest {
  /** The first message; null if the user types it. */
  readonly message: string | null;
  /** The product runs in a terminal. Otherwise it responds to the message and exits. */
  readonly isInteractive: boolean;
  /** The last record to keep; null for the whole history. */
  readonly until: CutAfter | null;
  /** More arguments for the product's command. */
  readonly args: readonly string[];
  /** A new id for a copy. */
  readonly id: string;
  /** Where to write a copy with this file name. */
  copyAt(name: string): string;
}

/** A record of a transcript; `offset` is null for a row of a database or a whole document. */
export interface CutAfter {
  readonly path: string;
  readonly line: number;
  readonly offset: number | null;
}

/** Whether the record is kept. */
export const isBefore = (cut: CutAfter | null, path: string, { line, offset }: TranscriptRecord) =>
  cut === null || cut.path !== path || line < cut.line || (line === cut.line && offset <= (cut.offset ?? offset));

const NAME = /^[\w@][\w.:/@+[\]-]{0,199}$/;

/** A name from a record, if it can be an argument: no option, no control characters. */
export const nameIn = (text: string | null | undefined): string | null =>
  text != null && NAME.test(text) ? text : null;

/** A message must not be parsed as an option. */
export const asArgument = (message: string) => (message.startsWith("-") ? ["--", message] : [message]);
