import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { ExchangeFilter, RecordedExchange } from "../../core/facts/exchange.ts";
import { type AgentKey, type CallKey, placeName, threadOf } from "../../core/facts/ids.ts";
import type { Observation } from "../../core/facts/observation.ts";
import type { Problem, ProblemCode } from "../../core/facts/problem.ts";
import type { Fold } from "../../core/link/fold.ts";
import type {
  AgentRow,
  Facts,
  FileBatch,
  FileState,
  FolderKey,
  IndexedText,
  ProblemCount,
  Projection,
  RootFilter,
  RootRow,
  Seals,
  SearchHit,
  Store,
  TextBatch,
  TextDue,
  TextPosition,
} from "../../core/ports/store.ts";
import type { SpentRow } from "../../core/views/stats.ts";
import { continues, describesFile, isDescribedAnew, withFileState } from "../consistency.ts";
import { checkCount, checkText, withFaults } from "../fault.ts";
import { Chunks } from "./chunks.ts";
import { Exchanges } from "./exchanges.ts";
import { Files } from "./files.ts";
import { Joins, keysByThread } from "./joins.ts";
import { loadSqlite } from "./load.ts";
import { migrate } from "./migrate.ts";
import { savedFacts } from "./packing.ts";
import { type Packed, Packs } from "./packs.ts";
import { Projections } from "./projections.ts";
import { discardOtherReader } from "./reader.ts";
import { MIGRATIONS, OWNER } from "./schema.ts";
import { type Statements, statementsOf } from "./statements.ts";
import { Texts } from "./texts.ts";

/**
 * `reader` is the version of the parsers; facts of another version are discarded.
 * `busyMs`: how long a write waits for the lock, which blocks this thread.
 */
export async function openSqliteStore(path: string, reader: string, busyMs = 10_000): Promise<Store> {
  const sqlite = await loadSqlite();
  mkdirSync(dirname(path), { recursive: true });
  const db = new sqlite.DatabaseSync(path);
  try {
    // A power failure may lose the last seconds, which are read again from the files; a crash of the process loses
    // nothing.
    db.exec(
      `PRAGMA busy_timeout = ${busyMs}; PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 8000`,
    );
    migrate(db, path, MIGRATIONS);
    discardOtherReader(db, reader);
  } catch (error) {
    db.close();
    throw error;
  }
  return withFaults(new SqliteStore(db));
}

class SqliteStore implements Store {
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  readonly #packs: Packs;
  readonly #files: Files;
  readonly #chunks: Chunks;
  readonly #joins: Joins;
  readonly #texts: Texts;
  readonly #exchanges: Exchanges;
  readonly #projections: Projections;
  readonly #touched = new Map<AgentKey, number>();
  #others: { readonly commits: number; readonly versions: ReadonlyMap<AgentKey, number> | null } = {
    commits: -1,
    versions: null,
  };
  #noticed = -1;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = statementsOf(db);
    this.#packs = new Packs(this.#sql);
    this.#files = new Files(this.#sql, this.#packs);
    this.#chunks = new Chunks(this.#sql, this.#packs);
    this.#joins = new Joins(this.#sql);
    this.#texts = new Texts(this.#sql, this.#files, OWNER);
    this.#exchanges = new Exchanges(this.#sql);
    this.#projections = new Projections(this.#sql, this.#packs);
  }

  #write<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      this.#dropStaleCaches();
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      // SQLite itself rolls back if the disk is full.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      // Ids assigned in the transaction are invalid.
      this.#files.forget();
      this.#texts.forget();
      this.#chunks.forget();
      this.#joins.forget();
      this.#projections.forget();
      throw error;
    }
  }

  /** Drops caches if another process has written. To be called at the beginning of a transaction. */
  #dropStaleCaches(): void {
    const commits = this.#commitsOfOthers;
    if (commits === this.#noticed) return;
    this.#noticed = commits;
    this.#chunks.dropLists();
    this.#projections.forget();
  }

  file(path: string): FileState | null {
    return this.#files.get(path);
  }

  filesIn(folder: FolderKey): readonly FileState[] {
    return this.#files.in(folder);
  }

  objectsIn(database: string): readonly FileState[] {
    return this.#files.within(database);
  }

  unfinished(): readonly FileState[] {
    return this.#files.unfinished();
  }

  fileCount(): number {
    return this.#files.count();
  }

  seals(): Seals {
    return this.#files.seals();
  }

  seal(folders: ReadonlyMap<FolderKey, number | null>): void {
    if (folders.size > 0) this.#write(() => this.#files.seal(folders));
  }

  commit(batches: readonly FileBatch[]): readonly boolean[] {
    return this.#write(() => {
      this.#touched.clear();
      const fresh = batches.filter(({ before, facts }) => before === null && facts.length > 0);
      const packed = this.#packs.together(fresh, ({ facts, after }) => [savedFacts(facts), after.parser ?? null]);
      const stored = batches.map((batch) => this.#store(batch, packed.get(batch)));
      this.#joins.flush();
      // Packs of batches that another process has already stored are not used.
      if (stored.includes(null)) this.#packs.sweep(new Set(packed.values().map(({ pack }) => pack)));
      // Last and without other statements in between, because these would make FTS5 flush its buffer.
      for (const one of stored) for (const text of one?.texts ?? []) this.#texts.add(one?.file ?? 0, text);
      return stored.map((one) => one !== null);
    });
  }

  /**
   * The id of the file and the texts to index now; null if the batch does not continue what is stored.
   */
  #store(
    batch: FileBatch,
    packed: Packed | undefined,
  ): { readonly file: number; readonly texts: readonly IndexedText[] } | null {
    const { before, after, facts, problems, replaces = [], exchanges = [] } = batch;
    const stored = this.file(after.path);
    if (!continues(stored, before)) return null;
    const file = this.#files.save(after, stored !== null, packed?.places[1]);
    const keys = keysByThread(facts);
    const isReplaced = stored !== null && stored.generation !== after.generation;
    const corrected = new Set([
      ...(isReplaced ? this.#retract(file) : []),
      ...this.#replaced(file, after.path, replaces),
      ...(isDescribedAnew(stored, after) ? this.#describedIn(file) : []),
    ]);
    const described = new Set(facts.rare.filter(describesFile).map(({ speaker }) => threadOf(speaker)));
    if (packed === undefined) this.#chunks.add(file, batch);
    else this.#chunks.addPacked(file, batch, packed);
    for (const exchange of exchanges) this.#exchanges.save(file, exchange);
    for (const p of problems)
      this.#sql("INSERT INTO problem (file, code, place, detail, times) VALUES (?, ?, ?, ?, ?)").run(
        file,
        p.code,
        p.where,
        p.detail,
        p.times ?? 1,
      );
    for (const [thread, crossing] of keys) {
      const id = this.#touch(thread);
      this.#connect(id, file, described.has(thread));
      // Including its own key, which other threads may mention.
      this.#joins.add([thread, ...crossing], id);
    }
    for (const thread of corrected) if (!keys.has(thread)) this.#touch(thread);
    return { file, texts: this.#texts.textsToIndex(file, batch, !isReplaced) };
  }

  #connect(thread: number, file: number, isDescribed: boolean): void {
    const isNew =
      this.#sql("INSERT INTO file_thread (thread, file, described) VALUES (?, ?, ?) ON CONFLICT DO NOTHING").run(
        thread,
        file,
        isDescribed ? 1 : 0,
      ).changes > 0;
    if (isNew) this.#sql("UPDATE thread SET files = files + 1 WHERE id = ?").run(thread);
    else if (isDescribed)
      this.#sql("UPDATE file_thread SET described = 1 WHERE thread = ? AND file = ? AND described = 0").run(
        thread,
        file,
      );
  }

  /**
   * Retracts all facts of a file; returns its threads. Its shared keys are kept: at worst they join threads
   * unnecessarily.
   */
  #retract(file: number): AgentKey[] {
    const threads = this.#threadsOf(file);
    this.#texts.retract(file);
    this.#exchanges.retract(file);
    this.#chunks.retract(file);
    this.#sql("DELETE FROM problem WHERE file = ?").run(file);
    for (const { thread } of this.#sql("DELETE FROM file_thread WHERE file = ? RETURNING thread").all(file))
      this.#sql("UPDATE thread SET files = files - 1 WHERE id = ?").run(Number(thread));
    return threads;
  }

  /** Retracts the facts of changed rows; returns the threads of the file. */
  #replaced(file: number, path: string, rows: readonly string[]): readonly AgentKey[] {
    for (const row of rows) {
      this.#texts.retractRow(file, row);
      this.#sql("DELETE FROM problem WHERE file = ? AND place = ?").run(file, placeName(path, 0, row));
    }
    return rows.length === 0 ? [] : this.#threadsOf(file);
  }

  /** The threads of agents whose transcript it is. */
  #describedIn(file: number): AgentKey[] {
    return this.#sql(
      "SELECT t.key FROM file_thread ft JOIN thread t ON t.id = ft.thread WHERE ft.file = ? AND ft.described = 1",
    )
      .all(file)
      .map((row) => row.key as AgentKey);
  }

  #threadsOf(file: number): AgentKey[] {
    return this.#sql("SELECT t.key FROM file_thread ft JOIN thread t ON t.id = ft.thread WHERE ft.file = ?")
      .all(file)
      .map((row) => row.key as AgentKey);
  }

  exchanges = (filter: ExchangeFilter): readonly RecordedExchange[] => this.#exchanges.list(filter);
  exchange = (id: string, under: readonly string[]): RecordedExchange | null => this.#exchanges.find(id, under);
  exchangeOfCall = (call: CallKey, under: readonly string[]): RecordedExchange | null =>
    this.#exchanges.ofCall(call, under);

  search = (words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[] =>
    this.#texts.search(words, under, limit);
  textsDue = (under: readonly string[]): readonly TextDue[] => this.#texts.due(under);
  textPosition = (path: string): TextPosition | null => this.#texts.position(path);

  addTexts = (batches: readonly TextBatch[]): void => this.#write(() => this.#texts.addBatches(batches));

  /** Once per write, however many files have facts about the thread. */
  #touch(key: AgentKey): number {
    const known = this.#touched.get(key);
    if (known !== undefined) return known;
    const row = this.#sql(
      "INSERT INTO thread (owner, key, version, projected) VALUES (?, ?, 1, 0) ON CONFLICT (owner, key) DO UPDATE SET version = version + 1 RETURNING id",
    ).get(OWNER, key);
    this.#touched.set(key, Number(row?.id));
    return Number(row?.id);
  }

  stale(): readonly AgentKey[] {
    return this.#sql("SELECT key FROM thread WHERE version > projected AND owner = ?")
      .all(OWNER)
      .map((row) => row.key as AgentKey);
  }

  /** Changes when another connection commits. */
  get #commitsOfOthers(): number {
    return Number(this.#sql("PRAGMA data_version").get()?.data_version);
  }

  changedByOthers(): readonly AgentKey[] {
    const now = this.#commitsOfOthers;
    if (now === this.#others.commits) return [];
    const rows = this.#sql("SELECT key, version FROM thread WHERE owner = ?").all(OWNER);
    const versions = new Map(rows.map((row) => [row.key as AgentKey, Number(row.version)]));
    const before = this.#others.versions;
    this.#others = { commits: now, versions };
    return before === null
      ? []
      : [...versions].filter(([key, version]) => before.get(key) !== version).map(([key]) => key);
  }

  setFactCacheSize(bytes: number): void {
    this.#chunks.cacheBytes = bytes;
  }

  invalidate(): void {
    this.#write(() => this.#sql("UPDATE thread SET projected = 0 WHERE owner = ?").run(OWNER));
  }

  related(threads: readonly AgentKey[]): readonly AgentKey[] {
    const found = new Set(threads);
    for (const thread of threads) {
      const id = this.#thread(thread)?.id;
      if (id === undefined) continue;
      for (const other of this.#joins.around(id)) {
        const key = this.#sql("SELECT key FROM thread WHERE id = ?").get(other)?.key;
        checkCount("keys of joined threads", key === undefined ? 0 : 1, 1);
        found.add(key as AgentKey);
      }
    }
    return [...found];
  }

  versions(threads: readonly AgentKey[]): Facts["versions"] {
    return new Map(threads.map((key) => [key, this.#thread(key)?.version ?? 0]));
  }

  /** Null for a thread that only a manual link mentions. */
  #thread(key: AgentKey): { readonly id: number; readonly version: number; readonly files: number } | null {
    const row = this.#sql("SELECT id, version, files FROM thread WHERE owner = ? AND key = ?").get(OWNER, key);
    if (row !== undefined) return { id: Number(row.id), version: Number(row.version), files: Number(row.files) };
    const all = this.#sql("SELECT count(*) AS n FROM thread NOT INDEXED WHERE owner = ? AND key = ?");
    checkCount("threads in the index of their table", 0, Number(all.get(OWNER, key)?.n));
    return null;
  }

  facts(threads: readonly AgentKey[], under: readonly string[]): Facts {
    const roots = new Set<string>();
    const versions = new Map<AgentKey, number>();
    const [observations, folds]: [Observation[], Fold[]] = [[], []];
    const [read, wanted] = [new Set<number>(), new Set(threads)];
    // In one transaction, so that versions and facts are consistent.
    this.#db.exec("BEGIN");
    try {
      this.#dropStaleCaches();
      for (const key of threads) {
        const thread = this.#thread(key);
        versions.set(key, thread?.version ?? 0);
        const files = this.#sql(
          "SELECT f.id, d.path || '/' || f.name AS path, f.root, f.size, f.offset, f.gone FROM file_thread ft JOIN file f ON f.id = ft.file JOIN folder d ON d.id = f.folder WHERE ft.thread = ?",
        ).all(thread?.id ?? -1);
        checkCount(`files of ${key}`, files.length, thread?.files ?? 0);
        for (const { id, path, root, size, offset, gone } of files) {
          checkText(path as string);
          checkText(root as string);
          roots.add(root as string);
          if (read.has(Number(id)) || !under.includes(root as string)) continue;
          read.add(Number(id));
          const facts = this.#chunks.of(Number(id), path as string);
          folds.push(...facts.folds.filter((fold) => wanted.has(threadOf(fold.speaker))));
          for (const o of facts.observations)
            if (wanted.has(threadOf(o.speaker)))
              observations.push(withFileState(o, { size: Number(size), offset: Number(offset), gone: gone === 1 }));
        }
      }
    } finally {
      if (this.#db.isTransaction) this.#db.exec("COMMIT");
    }
    return { observations, folds, versions, scattered: roots.size > 1 };
  }

  project(...projections: readonly Projection[]): readonly boolean[] {
    return this.#write(() => this.#projections.save(projections));
  }

  roots = (filter: RootFilter): readonly RootRow[] => this.#projections.roots(filter);
  unsettled = (under: readonly string[], since: number): readonly AgentKey[] =>
    this.#projections.unsettled(under, since);
  spent = (under: readonly string[], since: string | null): readonly SpentRow[] =>
    this.#projections.spent(under, since);
  named = (id: string, under: readonly string[]): readonly AgentRow[] => this.#projections.named(id, under);

  problems(examples: number): readonly ProblemCount[] {
    const codes = this.#sql("SELECT code, sum(times) AS n FROM problem GROUP BY code ORDER BY code").all();
    return codes.map((row) => ({
      code: row.code as ProblemCode,
      count: Number(row.n),
      examples: this.#sql("SELECT place, detail FROM problem WHERE code = ? ORDER BY id LIMIT ?")
        .all(row.code as string, examples)
        .map((p) => ({ code: row.code as ProblemCode, where: p.place as string, detail: p.detail as string })),
    }));
  }

  problemsOf = (files: readonly string[], within: readonly string[]): readonly Problem[] =>
    this.#files.problemsOf(files, within);

  note(name: string): string | null {
    return (this.#sql("SELECT value FROM note WHERE name = ?").get(name)?.value as string | undefined) ?? null;
  }

  setNote(name: string, value: string): void {
    this.#sql(
      "INSERT INTO note (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    ).run(name, value);
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }
}
