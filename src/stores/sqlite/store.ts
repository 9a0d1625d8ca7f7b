import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { AgentRecord } from "../../core/agent.ts";
import type { ExchangeFilter, RecordedExchange } from "../../core/exchange.ts";
import { placeName } from "../../core/findings.ts";
import type { Fold } from "../../core/fold.ts";
import { type AgentKey, type CallKey, threadOf } from "../../core/ids.ts";
import type { Observation } from "../../core/observation.ts";
import type { Problem, ProblemCode } from "../../core/problem.ts";
import type { SpentRow } from "../../core/stats.ts";
import type {
  AgentRow,
  Facts,
  FileBatch,
  FileState,
  FolderKey,
  ProblemCount,
  Projection,
  RootFilter,
  RootRow,
  Seals,
  SearchHit,
  Store,
} from "../../core/store.ts";
import { asItStands, continues } from "../consistency.ts";
import { withFaults } from "../fault.ts";
import { Chunks } from "./chunks.ts";
import { Exchanges } from "./exchanges.ts";
import { Files } from "./files.ts";
import { Joins, keysByThread } from "./joins.ts";
import { loadSqlite } from "./load.ts";
import { migrate } from "./migrate.ts";
import { packJson, unpackJson } from "./packing.ts";
import { forgetOtherReader } from "./reader.ts";
import { MIGRATIONS, OWNER } from "./schema.ts";
import { type Statements, statementsOf } from "./statements.ts";
import { Texts } from "./texts.ts";

/** True for threads that have a file below one of the roots in the JSON list bound to `list`. */
const VISIBLE = (thread: string, list = "?") =>
  `EXISTS (SELECT 1 FROM file_thread ft JOIN file f ON f.id = ft.file WHERE ft.thread = ${thread} AND f.root IN (SELECT value FROM json_each(${list})))`;

/**
 * `reader` names what the facts were read by: facts of another one are thrown away.
 * `busyMs`: how long a write waits for another process, and this thread with it.
 */
export async function openSqliteStore(path: string, reader: string, busyMs = 10_000): Promise<Store> {
  const sqlite = await loadSqlite();
  mkdirSync(dirname(path), { recursive: true });
  const db = new sqlite.DatabaseSync(path);
  try {
    // All of it can be read again from the files, so the last seconds before a power cut may be lost; a crash of the process loses nothing.
    db.exec(
      `PRAGMA busy_timeout = ${busyMs}; PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 8000`,
    );
    migrate(db, path, MIGRATIONS);
    forgetOtherReader(db, reader);
  } catch (error) {
    db.close();
    throw error;
  }
  return withFaults(new SqliteStore(db));
}

class SqliteStore implements Store {
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  readonly #files: Files;
  readonly #chunks: Chunks;
  readonly #joins: Joins;
  readonly #texts: Texts;
  readonly #exchanges: Exchanges;
  #others: { readonly commits: number; readonly versions: ReadonlyMap<AgentKey, number> | null } = { commits: -1, versions: null };

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = statementsOf(db);
    this.#files = new Files(this.#sql);
    this.#chunks = new Chunks(this.#sql);
    this.#joins = new Joins(this.#sql);
    this.#texts = new Texts(this.#sql, OWNER);
    this.#exchanges = new Exchanges(this.#sql);
  }

  #write<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      // A full disk has SQLite roll back by itself.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      // Numbers given out on the way are void.
      this.#texts.forget();
      this.#chunks.forget();
      throw error;
    }
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
      const files = batches.map((batch) => this.#take(batch));
      // Last, and one after the other: any other statement between them makes the full-text index write out what it has gathered.
      for (const [i, { texts }] of batches.entries()) {
        const file = files[i] ?? null;
        if (file !== null) for (const text of texts) this.#texts.add(file, text);
      }
      return files.map((file) => file !== null);
    });
  }

  /** The number of the file, or null where the batch does not go on from what is stored. */
  #take({ before, after, observations, problems, replaces = [], exchanges = [] }: FileBatch): number | null {
    const stored = this.file(after.path);
    if (!continues(stored, before)) return null;
    const file = this.#files.save(after);
    const keys = keysByThread(observations);
    const corrected = new Set([
      ...(stored !== null && stored.generation !== after.generation ? this.#retract(file) : []),
      ...this.#replaced(file, after.path, replaces),
    ]);
    this.#chunks.add(file, after.path, observations, replaces);
    for (const exchange of exchanges) this.#exchanges.save(file, exchange);
    for (const p of problems)
      this.#sql("INSERT INTO problem (file, code, place, detail, times) VALUES (?, ?, ?, ?, ?)").run(file, p.code, p.where, p.detail, p.times ?? 1);
    for (const [thread, crossing] of keys) {
      const id = this.#touch(thread);
      this.#sql("INSERT OR IGNORE INTO file_thread (thread, file) VALUES (?, ?)").run(id, file);
      // Its own name is one: other threads may mention it.
      this.#joins.add([thread, ...crossing], id);
    }
    for (const thread of corrected) if (!keys.has(thread)) this.#touch(thread);
    return file;
  }

  /** Takes back all that a file said; the threads it spoke for. Its cross keys stay: they can only join threads that need not be. */
  #retract(file: number): AgentKey[] {
    const threads = this.#threadsOf(file);
    this.#texts.retract(file);
    this.#exchanges.retract(file);
    for (const table of ["chunk", "problem", "file_thread"]) this.#sql(`DELETE FROM ${table} WHERE file = ?`).run(file);
    return threads;
  }

  /** Takes back what rows said before they changed; the threads the file speaks for. */
  #replaced(file: number, path: string, rows: readonly string[]): readonly AgentKey[] {
    for (const row of rows) {
      this.#texts.retractRow(file, row);
      this.#sql("DELETE FROM problem WHERE file = ? AND place = ?").run(file, placeName(path, 0, row));
    }
    return rows.length === 0 ? [] : this.#threadsOf(file);
  }

  #threadsOf(file: number): AgentKey[] {
    return this.#sql("SELECT t.key FROM file_thread ft JOIN thread t ON t.id = ft.thread WHERE ft.file = ?")
      .all(file)
      .map((row) => row.key as AgentKey);
  }

  exchanges = (filter: ExchangeFilter): readonly RecordedExchange[] => this.#exchanges.list(filter);
  exchange = (id: string, under: readonly string[]): RecordedExchange | null => this.#exchanges.find(id, under);
  exchangeOfCall = (call: CallKey, under: readonly string[]): RecordedExchange | null => this.#exchanges.ofCall(call, under);

  search(words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[] {
    return this.#texts.search(words, under, limit);
  }

  #touch(key: AgentKey): number {
    const row = this.#sql(
      "INSERT INTO thread (owner, key, version, projected) VALUES (?, ?, 1, 0) ON CONFLICT (owner, key) DO UPDATE SET version = version + 1 RETURNING id",
    ).get(OWNER, key);
    return Number(row?.id);
  }

  stale(): readonly AgentKey[] {
    return this.#sql("SELECT key FROM thread WHERE version > projected AND owner = ?")
      .all(OWNER)
      .map((row) => row.key as AgentKey);
  }

  toldByOthers(): readonly AgentKey[] {
    // Counts what other connections have committed.
    const now = Number(this.#sql("PRAGMA data_version").get()?.data_version);
    if (now === this.#others.commits) return [];
    const rows = this.#sql("SELECT key, version FROM thread WHERE owner = ?").all(OWNER);
    const versions = new Map(rows.map((row) => [row.key as AgentKey, Number(row.version)]));
    const before = this.#others.versions;
    this.#others = { commits: now, versions };
    return before === null ? [] : [...versions].filter(([key, version]) => before.get(key) !== version).map(([key]) => key);
  }

  keepFacts(bytes: number): void {
    this.#chunks.keep = bytes;
  }

  invalidate(): void {
    this.#write(() => this.#sql("UPDATE thread SET projected = 0 WHERE owner = ?").run(OWNER));
  }

  related(threads: readonly AgentKey[]): readonly AgentKey[] {
    const found = new Set(threads);
    for (const thread of threads) {
      const id = this.#sql("SELECT id FROM thread WHERE owner = ? AND key = ?").get(OWNER, thread)?.id;
      if (id === undefined) continue;
      for (const other of this.#joins.around(Number(id))) found.add(this.#sql("SELECT key FROM thread WHERE id = ?").get(other)?.key as AgentKey);
    }
    return [...found];
  }

  versions(threads: readonly AgentKey[]): Facts["versions"] {
    const versionOf = (key: AgentKey) => Number(this.#sql("SELECT version FROM thread WHERE owner = ? AND key = ?").get(OWNER, key)?.version ?? 0);
    return new Map(threads.map((key) => [key, versionOf(key)]));
  }

  facts(threads: readonly AgentKey[], under: readonly string[]): Facts {
    const roots = new Set<string>();
    const versions = new Map<AgentKey, number>();
    const [observations, folds]: [Observation[], Fold[]] = [[], []];
    const [read, wanted] = [new Set<number>(), new Set(threads)];
    // One moment for versions and facts: a reader must not mix two.
    this.#db.exec("BEGIN");
    try {
      for (const key of threads) {
        const thread = this.#sql("SELECT id, version FROM thread WHERE owner = ? AND key = ?").get(OWNER, key);
        versions.set(key, Number(thread?.version ?? 0));
        const files = this.#sql(
          "SELECT f.id, d.path || '/' || f.name AS path, f.root, f.size, f.offset, f.gone FROM file_thread ft JOIN file f ON f.id = ft.file JOIN folder d ON d.id = f.folder WHERE ft.thread = ?",
        ).all(Number(thread?.id ?? -1));
        for (const { id, path, root, size, offset, gone } of files) {
          roots.add(root as string);
          if (read.has(Number(id)) || !under.includes(root as string)) continue;
          read.add(Number(id));
          const said = this.#chunks.of(Number(id), path as string);
          folds.push(...said.folds.filter((fold) => wanted.has(threadOf(fold.speaker))));
          for (const o of said.observations)
            if (wanted.has(threadOf(o.speaker))) observations.push(asItStands(o, { size: Number(size), offset: Number(offset), gone: gone === 1 }));
        }
      }
    } finally {
      if (this.#db.isTransaction) this.#db.exec("COMMIT");
    }
    return { observations, folds, versions, scattered: roots.size > 1 };
  }

  /** Of a thread that something names; one that only a person's link names gets a row of its own. */
  #threadId(key: AgentKey): number {
    const known = this.#sql("SELECT id FROM thread WHERE owner = ? AND key = ?").get(OWNER, key);
    return Number(known?.id ?? this.#sql("INSERT INTO thread (owner, key, version, projected) VALUES (?, ?, 0, 0)").run(OWNER, key).lastInsertRowid);
  }

  project(...projections: readonly Projection[]): readonly boolean[] {
    return this.#write(() => projections.map((projection) => this.#project(projection)));
  }

  #project({ versions, roots, agents, spent, problems }: Projection): boolean {
    const isOlder = ([key, version]: [AgentKey, number]) =>
      Number(this.#sql("SELECT projected FROM thread WHERE owner = ? AND key = ?").get(OWNER, key)?.projected ?? 0) > version;
    if ([...versions].some(isOlder)) return false;
    const ids = new Map<AgentKey, number>();
    const idOf = (key: AgentKey) => ids.get(threadOf(key)) ?? this.#threadId(threadOf(key));
    for (const [key, version] of versions) {
      const row = this.#sql("UPDATE thread SET projected = ? WHERE owner = ? AND key = ? RETURNING id").get(version, OWNER, key);
      if (row === undefined) continue;
      ids.set(key, Number(row.id));
      for (const table of ["root", "agent", "spent", "problem"]) this.#sql(`DELETE FROM ${table} WHERE thread = ?`).run(Number(row.id));
    }
    for (const r of roots)
      this.#sql("INSERT OR REPLACE INTO root (thread, key, provider, cwd, last_activity, settled, internals, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)").run(
        idOf(r.key),
        r.key,
        r.provider,
        r.cwd,
        Math.round(r.lastActivity),
        r.settled ? 1 : 0,
        r.internals,
        packJson(r.record),
      );
    for (const a of agents)
      this.#sql("INSERT INTO agent (thread, key, uri, session_id, agent_id, path) VALUES (?, ?, ?, ?, ?, ?)").run(
        idOf(a.key),
        a.key,
        a.uri,
        a.sessionId,
        a.agentId,
        a.path,
      );
    for (const [root, rows] of spent) {
      const last = rows.reduce<string | null>((newest, { day }) => (day !== null && (newest === null || day > newest) ? day : newest), null);
      if (rows.length > 0) this.#sql("INSERT OR REPLACE INTO spent (thread, last_day, rows) VALUES (?, ?, ?)").run(idOf(root), last, packJson(rows));
    }
    const [first] = ids.values();
    for (const p of problems)
      this.#sql("INSERT INTO problem (thread, code, place, detail, times) VALUES (?, ?, ?, ?, ?)").run(first ?? null, p.code, p.where, p.detail, p.times ?? 1);
    return true;
  }

  roots({ under, provider, since, limit, after }: RootFilter): readonly RootRow[] {
    const conditions = [VISIBLE("root.thread"), ...(provider === undefined ? [] : ["provider = ?"]), ...(since === undefined ? [] : ["last_activity >= ?"])];
    const values: (string | number)[] = [JSON.stringify(under), ...(provider === undefined ? [] : [provider]), ...(since === undefined ? [] : [since])];
    if (after !== undefined) {
      conditions.push("(last_activity < ? OR (last_activity = ? AND key > ?))");
      values.push(after.lastActivity, after.lastActivity, after.key);
    }
    const rows = this.#sql(`SELECT * FROM root WHERE ${conditions.join(" AND ")} ORDER BY last_activity DESC, key LIMIT ?`).all(...values, limit);
    return rows.map((row) => ({
      key: row.key as AgentKey,
      provider: row.provider as string,
      cwd: row.cwd as string | null,
      lastActivity: Number(row.last_activity),
      settled: row.settled === 1,
      internals: Number(row.internals),
      record: unpackJson(row.record as Uint8Array) as AgentRecord,
    }));
  }

  spent(under: readonly string[], since: string | null): readonly SpentRow[] {
    return this.#sql(`SELECT rows FROM spent WHERE ${VISIBLE("spent.thread", "?1")} AND (?2 IS NULL OR last_day >= ?2) ORDER BY thread`)
      .all(JSON.stringify(under), since)
      .flatMap((row) => unpackJson(row.rows as Uint8Array) as SpentRow[])
      .filter((row) => since === null || (row.day ?? "") >= since);
  }

  named(id: string, under: readonly string[]): readonly AgentRow[] {
    // A range on the index instead of LIKE, whose wildcards may be part of an id.
    const within = (column: string) =>
      `SELECT key, uri, session_id, agent_id, path FROM agent WHERE ${column} >= ?1 AND ${column} < ?2 AND ${VISIBLE("agent.thread", "?3")}`;
    return this.#sql(`${within("session_id")} UNION ${within("agent_id")} ORDER BY uri`)
      .all(id, `${id}\u{10ffff}`, JSON.stringify(under))
      .map((row) => ({
        key: row.key as AgentKey,
        uri: row.uri as string,
        sessionId: row.session_id as string,
        agentId: row.agent_id as string | null,
        path: row.path as string | null,
      }));
  }

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

  problemsOf = (files: readonly string[], within: readonly string[]): readonly Problem[] => this.#files.problemsOf(files, within);

  note(name: string): string | null {
    return (this.#sql("SELECT value FROM note WHERE name = ?").get(name)?.value as string | undefined) ?? null;
  }

  setNote(name: string, value: string): void {
    this.#sql("INSERT INTO note (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value").run(name, value);
  }

  close(): void {
    this.#db.close();
  }
}
