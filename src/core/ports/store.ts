import type { Exchange, ExchangeFilter, RecordedExchange } from "../facts/exchange.ts";
import type { FactColumns } from "../facts/fact-columns.ts";
import type { AgentKey, CallKey, RecordKey } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import type { Problem, ProblemCode } from "../facts/problem.ts";
import type { FileFacts } from "../link/file-facts.ts";
import type { Fold } from "../link/fold.ts";
import type { AgentRecord } from "../views/agent.ts";
import type { SpentRow } from "../views/stats.ts";

/** How far a file, or an object of a database, was read, and what is needed to continue. */
export interface FileState {
  /** For an object: the path of the database, `#`, and the object's id. */
  readonly path: string;
  /** The database that holds the object; null for a file. */
  readonly within: string | null;
  /** The provider's folder it was found below. */
  readonly root: string;
  readonly provider: string;
  /** The identity of the file in the operating system; differs if a rename replaced the file. */
  readonly identity: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Bytes read, as complete lines. For an object: all bytes ever read. */
  readonly offset: number;
  readonly lines: number;
  /** Incremented if the file was replaced by another one; the facts of the old one are retracted. */
  readonly generation: number;
  /** Hash of the bytes before `offset`, which distinguishes an append from a rewrite. For an object: its revision. */
  readonly tail: string;
  /** The parser's state, as JSON. */
  readonly parser: unknown;
  readonly gone: boolean;
}

/** A folder as one provider sees it. */
export type FolderKey = string & { readonly folder: true };
/** Folders that were read completely, with a hash of their state. */
export type Seals = ReadonlyMap<FolderKey, number>;

export const folderKey = (provider: string, folder: string) =>
  `${provider}:${folder.replace(/\/\.?$/, "")}` as FolderKey;

/** The folder of a file; for an object, that of its database. */
export function folderOf({ provider, path, within }: Pick<FileState, "provider" | "path" | "within">): FolderKey {
  const file = within ?? path;
  return folderKey(provider, file.slice(0, Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"))));
}

/** New data of one file. */
export interface FileBatch {
  /** The state that it continues; null for a new file. */
  readonly before: FileState | null;
  readonly after: FileState;
  readonly facts: FactColumns;
  /**
   * All facts of the file so far, if it was read from its beginning and they were folded meanwhile; null if they could
   * not be folded. Omitted for appended facts.
   */
  readonly folded?: FileFacts | null | undefined;
  readonly problems: readonly Problem[];
  /**
   * Null if the text of these records is indexed later. It is also indexed later if earlier text of the file is not
   * indexed yet.
   */
  readonly texts: readonly IndexedText[] | null;
  /** Places that changed since they were read; their earlier facts are retracted. */
  readonly replaces?: readonly string[];
  /** New and changed API requests; each replaces its earlier version. */
  readonly exchanges?: readonly Exchange[];
}

/** A text for the full-text index, which does not store the text itself. */
export interface IndexedText {
  readonly speaker: AgentKey;
  readonly at: number | null;
  /** Its record, if copies of the record have the same id. */
  readonly record: RecordKey | null;
  readonly place: RecordPlace;
  readonly text: string;
}

/** A file whose text index is behind its records. */
export interface TextDue {
  readonly path: string;
  readonly modifiedMs: number;
  readonly bytes: number;
}

/** How far the text of a file is indexed, and the parser's state there; undefined at the beginning. */
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

/** The place of a record: its line and offset, or the name of a row. */
export type RecordPlace = { readonly line: number; readonly offset: number } | { readonly row: string };

export interface SearchHit {
  readonly speaker: AgentKey;
  readonly path: string;
  readonly place: RecordPlace;
  readonly at: number | null;
}

/** The projection of a component, and the versions of the facts it was computed from. */
export interface Projection {
  readonly versions: ReadonlyMap<AgentKey, number>;
  readonly roots: readonly RootRow[];
  readonly agents: readonly AgentRow[];
  /** Usage by root. */
  readonly spent: ReadonlyMap<AgentKey, readonly SpentRow[]>;
  readonly problems: readonly Problem[];
}

export interface RootRow {
  readonly key: AgentKey;
  readonly provider: string;
  readonly cwd: string | null;
  /** Last activity in the tree, in epoch milliseconds. */
  readonly lastActivity: number;
  /** False if a status in the tree may change without a new record. Then the record must be computed again when read. */
  readonly settled: boolean;
  readonly record: AgentRecord;
  /** Number of internal transcripts in this thread. */
  readonly internals: number;
}

/** The names of an agent, for lookups. */
export interface AgentRow {
  readonly key: AgentKey;
  readonly uri: string;
  /** The provider's ids of its thread and of the agent itself. */
  readonly sessionId: string;
  readonly agentId: string | null;
  /** Its path in the thread, if the product has one. */
  readonly path: string | null;
}

export interface Facts {
  readonly observations: readonly Observation[];
  /** Bulk facts that are not among the observations, by file and agent. */
  readonly folds: readonly Fold[];
  readonly versions: ReadonlyMap<AgentKey, number>;
  /** Files below several roots have facts about these threads, so results are valid only for the requested roots. */
  readonly scattered: boolean;
}

export interface RootFilter {
  /** Only threads with a file below one of these roots; the index may contain others. */
  readonly under: readonly string[];
  readonly provider?: string;
  readonly since?: number;
  readonly limit: number;
  /** The last row of the previous page. */
  readonly after?: { readonly lastActivity: number; readonly key: AgentKey };
}

export interface ProblemCount {
  readonly code: ProblemCode;
  readonly count: number;
  readonly examples: readonly Problem[];
}

/**
 * Stores observations and projections. Decides nothing. Every store passes test/contract/store.ts. All of its content
 * can be derived from the files again, so it may be deleted at any time.
 */
export interface Store {
  file(path: string): FileState | null;
  /** All files ever read directly in this folder, including deleted ones. */
  filesIn(folder: FolderKey): readonly FileState[];
  /** All objects ever read of this database, including deleted ones. */
  objectsIn(database: string): readonly FileState[];
  /** Existing files that were not read to their end. */
  unfinished(): readonly FileState[];
  fileCount(): number;
  seals(): Seals;
  /** Marks these folders as read completely in the given state; null removes the mark. */
  seal(folders: ReadonlyMap<FolderKey, number | null>): void;
  /**
   * Durable when it returns. Each batch is atomic. A batch that does not continue the stored state is skipped, because
   * another process was faster. Returns which were stored.
   */
  commit(batches: readonly FileBatch[]): readonly boolean[];
  /** Threads changed since their last projection. */
  stale(): readonly AgentKey[];
  /** Threads changed by other processes since the last call; none if no other process can write. */
  changedByOthers(): readonly AgentKey[];
  /** Sets the size of the fact cache in bytes; 0 empties it. */
  setFactCacheSize(bytes: number): void;
  /** Makes every thread stale, because something other than facts has changed, such as prices. */
  invalidate(): void;
  /** These threads and all that share keys with them, directly or indirectly. */
  related(threads: readonly AgentKey[]): readonly AgentKey[];
  /** The version of each of these threads: how often it changed; 0 if it is unknown. */
  versions(threads: readonly AgentKey[]): Facts["versions"];
  /** All facts about these threads from files below these roots, in no order, with their versions. */
  facts(threads: readonly AgentKey[], under: readonly string[]): Facts;
  /**
   * Replaces the projections of the threads in `versions`. Threads changed since then stay stale.
   * A projection of older facts than the stored one is dropped: of two processes, the slower one must not win.
   * Returns which were stored.
   */
  project(...projections: readonly Projection[]): readonly boolean[];
  /** Newest activity first. */
  roots(filter: RootFilter): readonly RootRow[];
  /** Top-level agents active since then whose status may change without a new record, newest activity first. */
  unsettled(under: readonly string[], since: number): readonly AgentKey[];
  /** Agents whose session id or own id equals this, or begins with it (ignoring case). */
  named(id: string, under: readonly string[]): readonly AgentRow[];
  /** Usage of agents in threads below these roots, from this day (UTC) on. */
  spent(under: readonly string[], since: string | null): readonly SpentRow[];
  /** Texts with all these words (the last one may be incomplete), best match first; copies of one record once. */
  search(words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[];
  /** Files whose text index is behind their records, newest first. */
  textsDue(under: readonly string[]): readonly TextDue[];
  /** Where to continue indexing this file; null if all of it is indexed. */
  textPosition(path: string): TextPosition | null;
  /**
   * Durable when it returns. Skips a batch that does not continue what is indexed, or whose file was replaced.
   */
  addTexts(batches: readonly TextBatch[]): void;
  /** API requests, newest first; those of the same millisecond by descending id. */
  exchanges(filter: ExchangeFilter): readonly RecordedExchange[];
  exchange(id: string, under: readonly string[]): RecordedExchange | null;
  /** The first request whose response contains this call. */
  exchangeOfCall(call: CallKey, under: readonly string[]): RecordedExchange | null;
  problems(examples: number): readonly ProblemCount[];
  /** Problems of these files and of files in the folders `within`. */
  problemsOf(files: readonly string[], within: readonly string[]): readonly Problem[];
  /** Small values by name; null if missing. */
  note(name: string): string | null;
  setNote(name: string, value: string): void;
  close(): void;
}
