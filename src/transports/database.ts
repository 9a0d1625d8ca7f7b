import { closeSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import type { DatabaseSchema, Query } from "../core/ports/provider.ts";
import { MAX_RECORD } from "../core/tools/limits.ts";
import { type FileStamp, type ReadCounts, stampOf } from "./files.ts";
import { WITHOUT_WAITING } from "./regular.ts";

/** A product's database cannot be read, or cannot be read now (`database-busy`). */
export class DatabaseTrouble extends Error {
  readonly code: "database-unreadable" | "database-busy";

  constructor(code: DatabaseTrouble["code"], message: string) {
    super(message);
    this.code = code;
  }
}

/** Suffix of the write-ahead log (WAL). */
export const LOG_SUFFIX = "-wal";

/** Identifies a version of a database: its file, and its WAL, which has the newest changes. */
export function databaseStamp(path: string): FileStamp {
  const [main, log] = [stampOf(path), statOrNull(path + LOG_SUFFIX)];
  // A WAL is reused from its beginning, so its size may stay the same; its time changes.
  return log === null ? main : { ...main, size: main.size + log.size, modifiedMs: main.modifiedMs + log.mtimeMs };
}

/** Resolution of file times. */
const CLOCK_TICK_MS = 20;

/** True if the file was just written: another write may have the same time, so the stamp would not show it. */
export function isFresh(path: string): boolean {
  return [path, path + LOG_SUFFIX].some((file) => Date.now() - (statOrNull(file)?.mtimeMs ?? 0) < CLOCK_TICK_MS);
}

/**
 * How to open the database without affecting its product:
 * `locks`: the product may be running; lock like any reader, which does not block writers.
 * `alone`: there is a WAL but no shared-memory file, so no process has it open. Opened without locks or sharing,
 * because SQLite would create that file.
 * `immutable`: no WAL; the file is complete.
 */
type OpenMode = "locks" | "alone" | "immutable";

const OPTIONS: Readonly<Record<OpenMode, string>> = {
  locks: "?mode=ro",
  alone: "?mode=ro&vfs=unix-none",
  immutable: "?immutable=1",
};
/** How long to wait for a lock. */
const WAIT_MS = 250;
/** The file format write version, in the header of a database: 1 for a rollback journal, 2 for a WAL. */
const WRITE_VERSION_OFFSET = 18;
const WAL_VERSION = 2;

function openModeOf(path: string): OpenMode {
  if (writeVersion(path) !== WAL_VERSION) return "locks";
  const log = statOrNull(path + LOG_SUFFIX);
  const isShared = statOrNull(`${path}-shm`) !== null;
  if (log === null || (log.size === 0 && !isShared)) return "immutable";
  return isShared || process.platform === "win32" ? "locks" : "alone";
}

/** A file without a complete header is treated like a database in WAL mode. */
function writeVersion(path: string): number {
  const file = openSync(path, WITHOUT_WAITING);
  try {
    const header = Buffer.alloc(WRITE_VERSION_OFFSET + 1);
    const isWhole = readSync(file, header, 0, header.length, 0) === header.length;
    return isWhole ? (header[WRITE_VERSION_OFFSET] as number) : WAL_VERSION;
  } finally {
    closeSync(file);
  }
}

function statOrNull(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

type Row = Readonly<Record<string, unknown>>;

export interface RecordRow {
  /** Names the record within its object. */
  readonly row: string;
  readonly position: number;
  /** Null if it is too large. */
  readonly record: Uint8Array | null;
  readonly bytes: number;
}

/** A product's database, opened read-only for a short time. All errors are DatabaseTrouble. */
export class ProductDatabase {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #counts: ReadCounts;
  readonly #openMode: OpenMode;
  readonly #stamp: string;
  /** Prepared statements, reused for thousands of objects. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(sqlite: typeof import("node:sqlite"), path: string, counts: ReadCounts) {
    this.#path = path;
    this.#counts = counts;
    this.#stamp = this.#currentStamp();
    this.#openMode = querying(path, () => openModeOf(path));
    counts.files += 1;
    const url = pathToFileURL(path);
    url.search = OPTIONS[this.#openMode];
    this.#db = querying(path, () => new sqlite.DatabaseSync(url, { readOnly: true, timeout: WAIT_MS }));
    // Exclusive mode: SQLite keeps the shared memory in the heap instead of a file.
    if (this.#openMode === "alone") querying(path, () => this.#db.exec("PRAGMA locking_mode = EXCLUSIVE"));
  }

  schema(): DatabaseSchema {
    const tables = new Map<string, string[]>();
    const columns =
      "SELECT lower(m.name) AS name, lower(c.name) AS col FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'";
    for (const { name, col } of this.all({ sql: columns, values: [] }))
      tables.set(String(name), [...(tables.get(String(name)) ?? []), String(col)]);
    return { userVersion: Number(this.one({ sql: "PRAGMA user_version", values: [] })?.user_version ?? 0), tables };
  }

  all({ sql, values }: Query): Row[] {
    this.#counts.queries += 1;
    const rows = querying(this.#path, () => this.#prepared(sql).all(...values));
    this.#counts.rows += rows.length;
    return rows;
  }

  one(query: Query): Row | null {
    return this.all(query)[0] ?? null;
  }

  /** The records of a query, one at a time, because all records of an object may not fit into memory. */
  *records(query: Query): Generator<RecordRow> {
    const { sql, values } = query;
    this.#counts.queries += 1;
    const rows = querying(this.#path, () => this.#prepared(limited(sql)).iterate(...values));
    for (
      let next = querying(this.#path, () => rows.next());
      next.done !== true;
      next = querying(this.#path, () => rows.next())
    ) {
      const { row, position, record, bytes } = next.value as Row;
      const content = record instanceof Uint8Array ? record : null;
      this.#counts.rows += 1;
      this.#counts.bytes += content?.length ?? 0;
      yield { row: String(row), position: Number(position), record: content, bytes: Number(bytes ?? 0) };
    }
  }

  /** Runs all queries in one snapshot. */
  moment<T>(work: () => T): T {
    querying(this.#path, () => this.#db.exec("BEGIN"));
    try {
      return work();
    } finally {
      this.#db.exec("ROLLBACK");
    }
  }

  /** Throws if the database was opened without locks and was modified since: what was read is not consistent. */
  checkUndisturbed(): void {
    if (this.#openMode !== "locks" && this.#currentStamp() !== this.#stamp)
      throw new DatabaseTrouble("database-busy", "it was modified while it was being read");
  }

  close(): void {
    this.#db.close();
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #currentStamp(): string {
    const parts = [this.#path, this.#path + LOG_SUFFIX].map((path) => statOrNull(path));
    return parts.map((stats) => (stats === null ? "-" : `${stats.ino} ${stats.size} ${stats.mtimeMs}`)).join(" ");
  }
}

/**
 * Wraps a query so that records are returned as bytes, and too large ones as NULL. The OFFSET keeps SQLite from
 * flattening the subquery, which would compute each record once for every mention of it.
 */
export const limited = (sql: string): string =>
  `SELECT "row", "position", octet_length(record) AS bytes, iif(octet_length(record) > ${MAX_RECORD}, NULL, CAST(record AS BLOB)) AS record FROM (SELECT * FROM (${sql}) LIMIT -1 OFFSET 0)`;

const BUSY = 5;
const LOCKED = 6;
const SQLITE_CODE = 0xff;

function querying<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { errcode, message } = error as Error & { errcode?: number };
    const code = (errcode ?? 0) & SQLITE_CODE;
    if (code === BUSY || code === LOCKED)
      throw new DatabaseTrouble("database-busy", `${message}: another process has locked it`);
    const log = statOrNull(path + LOG_SUFFIX);
    throw new DatabaseTrouble(
      "database-unreadable",
      log === null ? message : `${message} (with a WAL of ${log.size} bytes)`,
    );
  }
}
