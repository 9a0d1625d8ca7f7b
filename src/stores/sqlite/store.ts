import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { AgentRecord } from "../../core/agent.ts";
import { placeName } from "../../core/findings.ts";
import { type AgentKey, threadOf } from "../../core/ids.ts";
import { crossKeys, type Observation } from "../../core/observation.ts";
import type { ProblemCode } from "../../core/problem.ts";
import type { SpentRow } from "../../core/stats.ts";
import type { AgentRow, Facts, FileBatch, FileState, ProblemCount, Projection, RootFilter, RootRow, SearchHit, Store } from "../../core/store.ts";
import { asItStands, continues } from "../consistency.ts";
import { Chunks } from "./chunks.ts";
import { stateOf } from "./file-row.ts";
import { loadSqlite } from "./load.ts";
import { migrate } from "./migrate.ts";
import { hash } from "./packing.ts";
import { forgetOtherReader } from "./reader.ts";
import { MIGRATIONS } from "./schema.ts";
import { type Statements, statementsOf } from "./statements.ts";
import { Texts } from "./texts.ts";

const OWNER = "local";

/** True for threads that have a file below one of the roots in the JSON list bound to `list`. */
const VISIBLE = (thread: string, list = "?") =>
  `EXISTS (SELECT 1 FROM file_thread ft JOIN file f ON f.id = ft.file WHERE ft.thread = ${thread} AND f.root IN (SELECT value FROM json_each(${list})))`;

/** `reader` names what the facts were read by: facts of another one are thrown away. */
export async function openSqliteStore(path: string, reader: string): Promise<Store> {
  const sqlite = await loadSqlite();
  mkdirSync(dirname(path), { recursive: true });
  const db = new sqlite.DatabaseSync(path);
  try {
    // All of it can be read again from the files, so the last seconds before a power cut may be lost; a crash of the process loses nothing.
    db.exec("PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000");
    migrate(db, path, MIGRATIONS);
    forgetOtherReader(db, reader);
  } catch (error) {
    db.close();
    throw error;
  }
  return new SqliteStore(db);
}

class SqliteStore implements Store {
  readonly #db: DatabaseSync;
  readonly #sql: Statements;
  readonly #chunks: Chunks;
  readonly #texts: Texts;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#sql = statementsOf(db);
    this.#chunks = new Chunks(this.#sql);
    this.#texts = new Texts(this.#sql, OWNER);
  }

  #write<T>(work: () => T): T {
    this.#db.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#db.exec("COMMIT");
      return result;
    } catch (error) {
      this.#db.exec("ROLLBACK");
      // Numbers given out on the way are void.
      this.#texts.forget();
      this.#chunks.forget();
      throw error;
    }
  }

  files(): ReadonlyMap<string, FileState> {
    const rows = this.#sql("SELECT * FROM file WHERE owner = ?").all(OWNER);
    return new Map(rows.map((row) => [row.path as string, stateOf(row)]));
  }

  file(path: string): FileState | null {
    const row = this.#sql("SELECT * FROM file WHERE owner = ? AND path = ?").get(OWNER, path);
    return row === undefined ? null : stateOf(row);
  }

  commit(batches: readonly FileBatch[]): readonly boolean[] {
    return this.#write(() => batches.map((batch) => this.#take(batch)));
  }

  #take({ before, after, observations, problems, texts, replaces = [] }: FileBatch): boolean {
    const stored = this.file(after.path);
    if (!continues(stored, before)) return false;
    const file = this.#saveFile(after);
    const touched = new Set(observations.map((o) => threadOf(o.speaker)));
    if (stored !== null && stored.generation !== after.generation) for (const thread of this.#retract(file)) touched.add(thread);
    if (replaces.length > 0) for (const thread of this.#threadsOf(file)) touched.add(thread);
    for (const row of replaces) {
      this.#texts.retractRow(file, row);
      this.#sql("DELETE FROM problem WHERE file = ? AND place = ?").run(file, placeName(after.path, 0, row));
    }
    this.#chunks.add(file, after.path, observations, replaces);
    for (const p of problems)
      this.#sql("INSERT INTO problem (file, code, place, detail, times) VALUES (?, ?, ?, ?, ?)").run(file, p.code, p.where, p.detail, p.times ?? 1);
    for (const text of texts) this.#texts.add(file, text);
    const ids = new Map([...touched].map((key) => [key, this.#touch(key)]));
    for (const id of new Set([...observations].map((o) => ids.get(threadOf(o.speaker)) as number)))
      this.#sql("INSERT OR IGNORE INTO file_thread (thread, file) VALUES (?, ?)").run(id, file);
    for (const o of observations) {
      const id = ids.get(threadOf(o.speaker)) as number;
      for (const key of crossKeys(o)) this.#join(hash(key), id);
    }
    return true;
  }

  #saveFile(s: FileState): number {
    const row = this.#sql(
      `INSERT INTO file (owner, path, root, provider, identity, size, modified, offset, lines, generation, tail, parser, gone, within)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (owner, path) DO UPDATE SET root = excluded.root, provider = excluded.provider, identity = excluded.identity, size = excluded.size, modified = excluded.modified,
         offset = excluded.offset, lines = excluded.lines, generation = excluded.generation, tail = excluded.tail, parser = excluded.parser, gone = excluded.gone, within = excluded.within
       RETURNING id`,
    ).get(
      OWNER,
      s.path,
      s.root,
      s.provider,
      s.identity,
      s.size,
      s.modifiedMs,
      s.offset,
      s.lines,
      s.generation,
      s.tail,
      JSON.stringify(s.parser ?? null),
      s.gone ? 1 : 0,
      s.within,
    );
    return Number(row?.id);
  }

  /** Takes back all that a file said; the threads it spoke for. Its cross keys stay: they can only join threads that need not be. */
  #retract(file: number): AgentKey[] {
    const threads = this.#threadsOf(file);
    this.#texts.retract(file);
    for (const table of ["chunk", "problem", "file_thread"]) this.#sql(`DELETE FROM ${table} WHERE file = ?`).run(file);
    return threads;
  }

  #threadsOf(file: number): AgentKey[] {
    return this.#sql("SELECT t.key FROM file_thread ft JOIN thread t ON t.id = ft.thread WHERE ft.file = ?")
      .all(file)
      .map((row) => row.key as AgentKey);
  }

  search(words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[] {
    return this.#texts.search(words, under, limit);
  }

  #touch(key: AgentKey): number {
    const row = this.#sql(
      "INSERT INTO thread (owner, key, version, projected) VALUES (?, ?, 1, 0) ON CONFLICT (owner, key) DO UPDATE SET version = version + 1 RETURNING id, version",
    ).get(OWNER, key);
    const id = Number(row?.id);
    // Other threads may name this one.
    if (row?.version === 1) this.#join(hash(key), id);
    return id;
  }

  /** Threads that already held the key belong together with this one from now on, so what was worked out about them is out of date. */
  #join(key: number, thread: number) {
    const isNew = this.#sql("INSERT OR IGNORE INTO cross_key (hash, thread) VALUES (?, ?)").run(key, thread).changes > 0;
    if (isNew)
      this.#sql("UPDATE thread SET version = version + 1 WHERE id IN (SELECT thread FROM cross_key WHERE hash = ?1 AND thread <> ?2)").run(key, thread);
  }

  stale(): readonly AgentKey[] {
    return this.#sql("SELECT key FROM thread WHERE version > projected AND owner = ?")
      .all(OWNER)
      .map((row) => row.key as AgentKey);
  }

  invalidate(): void {
    this.#write(() => this.#sql("UPDATE thread SET projected = 0 WHERE owner = ?").run(OWNER));
  }

  related(threads: readonly AgentKey[]): readonly AgentKey[] {
    const found = new Set(threads);
    for (const thread of found) {
      const rows = this.#sql(
        `SELECT DISTINCT other.key FROM thread t
           JOIN cross_key mine ON mine.thread = t.id
           JOIN cross_key theirs ON theirs.hash = mine.hash AND theirs.thread <> t.id
           JOIN thread other ON other.id = theirs.thread
         WHERE t.owner = ? AND t.key = ?`,
      ).all(OWNER, thread);
      const naming = this.#sql("SELECT other.key FROM cross_key c JOIN thread other ON other.id = c.thread WHERE c.hash = ? AND other.owner = ?").all(
        hash(thread),
        OWNER,
      );
      for (const row of [...rows, ...naming]) found.add(row.key as AgentKey);
    }
    return [...found];
  }

  facts(threads: readonly AgentKey[], under: readonly string[]): Facts {
    const roots = new Set<string>();
    const versions = new Map<AgentKey, number>();
    const observations: Observation[] = [];
    const read = new Set<number>();
    const wanted = new Set(threads);
    // One moment for versions and facts: a reader must not mix two.
    this.#db.exec("BEGIN");
    try {
      for (const key of threads) {
        const thread = this.#sql("SELECT id, version FROM thread WHERE owner = ? AND key = ?").get(OWNER, key);
        versions.set(key, Number(thread?.version ?? 0));
        const files = this.#sql("SELECT f.id, f.path, f.root, f.size, f.gone FROM file_thread ft JOIN file f ON f.id = ft.file WHERE ft.thread = ?").all(
          Number(thread?.id ?? -1),
        );
        for (const { id, path, root, size, gone } of files) {
          roots.add(root as string);
          if (read.has(Number(id)) || !under.includes(root as string)) continue;
          read.add(Number(id));
          for (const o of this.#chunks.of(Number(id), path as string))
            if (wanted.has(threadOf(o.speaker))) observations.push(asItStands(o, { size: Number(size), gone: gone === 1 }));
        }
      }
    } finally {
      this.#db.exec("COMMIT");
    }
    return { observations, versions, scattered: roots.size > 1 };
  }

  project({ versions, roots, agents, spent, problems }: Projection): boolean {
    return this.#write(() => {
      const isOlder = ([key, version]: [AgentKey, number]) =>
        Number(this.#sql("SELECT projected FROM thread WHERE owner = ? AND key = ?").get(OWNER, key)?.projected ?? 0) > version;
      if ([...versions].some(isOlder)) return false;
      const ids = new Map<AgentKey, number>();
      const idOf = (key: AgentKey) =>
        ids.get(threadOf(key)) ?? Number(this.#sql("SELECT id FROM thread WHERE owner = ? AND key = ?").get(OWNER, threadOf(key))?.id ?? -1);
      for (const [key, version] of versions) {
        const row = this.#sql("UPDATE thread SET projected = ? WHERE owner = ? AND key = ? RETURNING id").get(version, OWNER, key);
        if (row === undefined) continue;
        ids.set(key, Number(row.id));
        for (const table of ["root", "agent", "spent", "problem"]) this.#sql(`DELETE FROM ${table} WHERE thread = ?`).run(Number(row.id));
      }
      for (const r of roots)
        this.#sql("INSERT OR REPLACE INTO root (thread, key, provider, cwd, last_activity, settled, internals, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?)").run(
          idOf(r.keptWith ?? r.key),
          r.key,
          r.provider,
          r.cwd,
          Math.round(r.lastActivity),
          r.settled ? 1 : 0,
          r.internals,
          JSON.stringify(r.record),
        );
      for (const a of agents)
        this.#sql("INSERT INTO agent (thread, key, uri, session_id, agent_id) VALUES (?, ?, ?, ?, ?)").run(
          idOf(a.keptWith ?? a.key),
          a.key,
          a.uri,
          a.sessionId,
          a.agentId,
        );
      for (const [root, rows] of spent)
        for (const row of rows) this.#sql("INSERT INTO spent (thread, day, row) VALUES (?, ?, ?)").run(idOf(root), row.day, JSON.stringify(row));
      const [first] = ids.values();
      for (const p of problems)
        this.#sql("INSERT INTO problem (thread, code, place, detail, times) VALUES (?, ?, ?, ?, ?)").run(
          first ?? null,
          p.code,
          p.where,
          p.detail,
          p.times ?? 1,
        );
      return true;
    });
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
      record: JSON.parse(row.record as string) as AgentRecord,
    }));
  }

  spent(under: readonly string[], since: string | null): readonly SpentRow[] {
    return this.#sql(`SELECT row FROM spent WHERE ${VISIBLE("spent.thread", "?1")} AND (?2 IS NULL OR day >= ?2) ORDER BY rowid`)
      .all(JSON.stringify(under), since)
      .map((row) => JSON.parse(row.row as string) as SpentRow);
  }

  named(id: string, under: readonly string[]): readonly AgentRow[] {
    // A range on the index instead of LIKE, whose wildcards may be part of an id.
    const within = (column: string) =>
      `SELECT key, uri, session_id, agent_id FROM agent WHERE ${column} >= ?1 AND ${column} < ?2 AND ${VISIBLE("agent.thread", "?3")}`;
    return this.#sql(`${within("session_id")} UNION ${within("agent_id")} ORDER BY uri`)
      .all(id, `${id}\u{10ffff}`, JSON.stringify(under))
      .map((row) => ({
        key: row.key as AgentKey,
        thread: row.thread as AgentKey,
        uri: row.uri as string,
        sessionId: row.session_id as string,
        agentId: row.agent_id as string | null,
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
