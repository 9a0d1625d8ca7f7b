import type { Exchange, ExchangeFilter, RecordedExchange } from "../facts/exchange.ts";
import type { AgentKey, CallKey, RecordKey } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import type { Problem, ProblemCode } from "../facts/problem.ts";
import type { Fold } from "../link/fold.ts";
import type { AgentRecord } from "../views/agent.ts";
import type { SpentRow } from "../views/stats.ts";

/** How far one file, or one object of a database, was read, and what it takes to go on from there. */
export interface FileState {
  /** Of an object: the database's, `#`, and the object's id. */
  readonly path: string;
  /** The database that holds the object; null for a file. */
  readonly within: string | null;
  /** The provider's folder it was found below. */
  readonly root: string;
  readonly provider: string;
  /** What the operating system calls the file; a file replaced by a rename gets another one. */
  readonly identity: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Bytes that were read and understood: whole lines only. Of an object: all that were ever read. */
  readonly offset: number;
  readonly lines: number;
  /** Incremented if the file was replaced by another one; the facts of the old one are retracted. */
  readonly generation: number;
  /** Hash of the bytes before `offset`, which distinguishes an append from a rewrite. For an object: its revision. */
  readonly tail: string;
  /** The parser's own memory, as JSON. */
  readonly parser: unknown;
  readonly gone: boolean;
}

/** A folder as one provider sees it. */
export type FolderKey = string & { readonly folder: true };
/** Folders of which every file was read, and how they looked then. */
export type Seals = ReadonlyMap<FolderKey, number>;

export const folderKey = (provider: string, folder: string) =>
  `${provider}:${folder.replace(/\/\.?$/, "")}` as FolderKey;

/** The folder a file lies in; objects lie where their database does. */
export function folderOf({ provider, path, within }: Pick<FileState, "provider" | "path" | "within">): FolderKey {
  const file = within ?? path;
  return folderKey(provider, file.slice(0, Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"))));
}

/** What reading on in one file brought. */
export interface FileBatch {
  /** The state this goes on from; null for a file not seen before. */
  readonly before: FileState | null;
  readonly after: FileState;
  readonly observations: readonly Observation[];
  readonly problems: readonly Problem[];
  /**
   * Null where the text of these records is to be indexed later. Where earlier text of the file is not indexed yet,
   * this is left for later as well.
   */
  readonly texts: readonly IndexedText[] | null;
  /** Places that changed since they were read; their earlier facts are retracted. */
  readonly replaces?: readonly string[];
  /** Requests that something new is known of: each takes the place of what was known of it before. */
  readonly exchanges?: readonly Exchange[];
}

/** A text to be found by its words. The text itself stays in the file. */
export interface IndexedText {
  readonly speaker: AgentKey;
  readonly at: number | null;
  /** Its record, if copies of the record have the same id. */
  readonly record: RecordKey | null;
  readonly place: RecordPlace;
  readonly text: string;
}

/** A file whose records are read, but whose text is not indexed to the same place. */
export interface TextDue {
  readonly path: string;
  readonly modifiedMs: number;
  readonly bytes: number;
}

/** How far the text of a file is indexed, and the parser's memory at that place; undefined at the beginning. */
export interface TextPosition {
  readonly offset: number;
  readonly lines: number;
  readonly parser: unknown;
}

/** Text of one file. */
export interface TextBatch {
  readonly file: FileState;
  readonly from: TextPosition;
  readonly to: TextPosition;
  readonly texts: readonly IndexedText[];
}

/** How to find a record again: a line, and where it begins in the file, or the name of a row. */
export type RecordPlace = { readonly line: number; readonly offset: number } | { readonly row: string };

export interface SearchHit {
  readonly speaker: AgentKey;
  readonly path: string;
  readonly place: RecordPlace;
  readonly at: number | null;
}

/** What was worked out about threads that belong together, and from which versions of their facts. */
export interface Projection {
  readonly versions: ReadonlyMap<AgentKey, number>;
  readonly roots: readonly RootRow[];
  readonly agents: readonly AgentRow[];
  /** By the root of the tree that spent it. */
  readonly spent: ReadonlyMap<AgentKey, readonly SpentRow[]>;
  readonly problems: readonly Problem[];
}

export interface RootRow {
  readonly key: AgentKey;
  readonly provider: string;
  readonly cwd: string | null;
  /** Epoch milliseconds of the last sign of life in the whole tree. */
  readonly lastActivity: number;
  /** False while anything in the tree depends on the clock or on a process: then the record is only a first guess. */
  readonly settled: boolean;
  readonly record: AgentRecord;
  /** Transcripts of the product's own work in this thread. */
  readonly internals: number;
}

/** Enough to find an agent by any of its names. */
export interface AgentRow {
  readonly key: AgentKey;
  readonly uri: string;
  /** The provider's ids of its thread and of the agent itself. */
  readonly sessionId: string;
  readonly agentId: string | null;
  /** Its product's other name for it, below the thread. */
  readonly path: string | null;
}

export interface Facts {
  readonly observations: readonly Observation[];
  /** Bulk facts that are not among the observations, by file and speaker. */
  readonly folds: readonly Fold[];
  readonly versions: ReadonlyMap<AgentKey, number>;
  /** Files below more than one root speak of these threads: what is worked out holds only for the roots asked about. */
  readonly scattered: boolean;
}

/** Every single one. */
export const allFacts = ({ observations, folds }: Pick<Facts, "observations" | "folds">): readonly Observation[] => [
  ...observations,
  ...folds.flatMap((fold) => fold.facts()),
];

export interface RootFilter {
  /** Only threads with a file below one of these: the index may know folders that are not looked at today. */
  readonly under: readonly string[];
  readonly provider?: string;
  readonly since?: number;
  readonly limit: number;
  /** Goes on after this row of the last page. */
  readonly after?: { readonly lastActivity: number; readonly key: AgentKey };
}

export interface ProblemCount {
  readonly code: ProblemCode;
  readonly count: number;
  readonly examples: readonly Problem[];
}

/**
 * Keeps what was observed and what was worked out from it. Decides nothing. Every store passes test/contract/store.ts.
 * Everything in it can be worked out again from the files: it may be thrown away at any time.
 */
export interface Store {
  file(path: string): FileState | null;
  /** Every file ever read right in this folder; those that are gone too. */
  filesIn(folder: FolderKey): readonly FileState[];
  /** Every object ever read of this database; those that are gone too. */
  objectsIn(database: string): readonly FileState[];
  /** Files that are there and were not read to their end. */
  unfinished(): readonly FileState[];
  fileCount(): number;
  seals(): Seals;
  /** Remembers that every file of these folders was read as it lay there then; null forgets it. */
  seal(folders: ReadonlyMap<FolderKey, number | null>): void;
  /**
   * Durable when it returns. Each batch is taken whole or not at all; one that does not go on from what is stored
   * (another process was faster) is passed over. Says which were taken.
   */
  commit(batches: readonly FileBatch[]): readonly boolean[];
  /** Threads changed since their last projection. */
  stale(): readonly AgentKey[];
  /** Threads changed by other processes since the last call; none if no other process can write. */
  changedByOthers(): readonly AgentKey[];
  /** Sets the size of the fact cache in bytes; 0 empties it. */
  keepFacts(bytes: number): void;
  /** Makes every thread stale: what they are worked out from, besides their facts, is another. */
  invalidate(): void;
  /** The threads joined to these by records or names in common, directly or through others; these included. */
  related(threads: readonly AgentKey[]): readonly AgentKey[];
  /** The version of each of these threads: how often it changed; 0 if it is unknown. */
  versions(threads: readonly AgentKey[]): Facts["versions"];
  /** All that files below these roots say about these threads, in no order, and the versions of it. */
  facts(threads: readonly AgentKey[], under: readonly string[]): Facts;
  /**
   * Replaces the projections of the threads in `versions`. Threads changed since then stay stale.
   * A projection of older facts than the stored one is dropped: of two processes, the slower one must not win.
   * Says which were taken.
   */
  project(...projections: readonly Projection[]): readonly boolean[];
  /** Newest activity first. */
  roots(filter: RootFilter): readonly RootRow[];
  /** Top-level agents active since then whose status may change without a new record, newest activity first. */
  unsettled(under: readonly string[], since: number): readonly AgentKey[];
  /** Agents whose session id or own id is this, or begins so (case does not matter for a beginning). */
  named(id: string, under: readonly string[]): readonly AgentRow[];
  /** What was spent by agents of threads below these roots, on this day (in UTC) and later. */
  spent(under: readonly string[], since: string | null): readonly SpentRow[];
  /** Texts with all these words (the last one may be incomplete), best match first; copies of one record once. */
  search(words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[];
  /** Files whose text is not indexed to where their records are read, newest first. */
  textsDue(under: readonly string[]): readonly TextDue[];
  /** Where to go on with the text of this file; null where all of it is indexed. */
  textPosition(path: string): TextPosition | null;
  /**
   * Durable when it returns. A batch that does not go on from what is indexed is passed over; so is one of a file that
   * was replaced meanwhile.
   */
  addTexts(batches: readonly TextBatch[]): void;
  /** Requests to an API, newest first. */
  exchanges(filter: ExchangeFilter): readonly RecordedExchange[];
  exchange(id: string, under: readonly string[]): RecordedExchange | null;
  /** The request whose response contains this call. */
  exchangeOfCall(call: CallKey, under: readonly string[]): RecordedExchange | null;
  problems(examples: number): readonly ProblemCount[];
  /** Those of these files, and of files in the folders `within`. */
  problemsOf(files: readonly string[], within: readonly string[]): readonly Problem[];
  /** Small notes to itself: null when there is none. */
  note(name: string): string | null;
  setNote(name: string, value: string): void;
  close(): void;
}
