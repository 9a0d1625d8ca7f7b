import { closeSync, lstatSync, openSync, readSync, type Stats } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { MAX_RECORD } from "../core/limits.ts";
import type { DatabaseSchema, Query } from "../core/provider.ts";
import { type FileStamp, type ReadCounts, stampOf, WITHOUT_WAITING } from "./files.ts";

/** A product's database cannot be read, or not now. */
export class DatabaseTrouble extends Error {
  readonly code: "database-unreadable" | "database-busy";

  constructor(code: DatabaseTrouble["code"], message: string) {
    super(message);
    this.code = code;
  }
}

export const LOG_SUFFIX = "-wal";

/** What distinguishes a database from what it was before: its file, and its log, where the newest changes stand first. */
export function databaseStamp(path: string): FileStamp {
  const [main, log] = [stampOf(path), statOrNull(path + LOG_SUFFIX)];
  // A log is used again from its beginning, so its size may stay; either time must show.
  return log === null ? main : { ...main, size: main.size + log.size, modifiedMs: main.modifiedMs + log.mtimeMs };
}

/** File systems give times in steps of a few milliseconds. */
const CLOCK_TICK_MS = 20;

/** It was written to just now: two writes may bear the same time, so that the stamp does not show whether another one followed. */
export function isFresh(path: string): boolean {
  return [path, path + LOG_SUFFIX].some((file) => Date.now() - (statOrNull(file)?.mtimeMs ?? 0) < CLOCK_TICK_MS);
}

/**
 * How to open it so that its product does not notice:
 * `locks`: the product may be at work; we lock as every reader does, which keeps no writer waiting.
 * `alone`: a log is there but nothing that processes share, so nobody has it open; SQLite would make that file, hence neither locks nor sharing.
 * `immutable`: no log: the file says all there is.
 */
type Manner = "locks" | "alone" | "immutable";

const OPTIONS: Readonly<Record<Manner, string>> = { locks: "?mode=ro", alone: "?mode=ro&vfs=unix-none", immutable: "?immutable=1" };
const WAIT_MS = 250;
const MODE_AT = 18;
const MODE_LOGGED = 2;

function mannerOf(path: string): Manner {
  if (writeMode(path) !== MODE_LOGGED) return "locks";
  const log = statOrNull(path + LOG_SUFFIX);
  const isShared = statOrNull(`${path}-shm`) !== null;
  if (log === null || (log.size === 0 && !isShared)) return "immutable";
  return isShared || process.platform === "win32" ? "locks" : "alone";
}

/** Of a file with less than a header in it: as good as none. */
function writeMode(path: string): number {
  const file = openSync(path, WITHOUT_WAITING);
  try {
    const header = Buffer.alloc(MODE_AT + 1);
    return readSync(file, header, 0, header.length, 0) === header.length ? (header[MODE_AT] as number) : MODE_LOGGED;
  } finally {
    closeSync(file);
  }
}

function statOrNull(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}

type Row = Readonly<Record<string, unknown>>;

export interface RecordRow {
  /** Names the record in its object. */
  readonly row: string;
  readonly position: number;
  /** Null for one that is too large. */
  readonly record: Uint8Array | null;
  readonly bytes: number;
}

/** A product's database, opened to be looked at and closed again soon. Whatever goes wrong is a DatabaseTrouble. */
export class ProductDatabase {
  readonly #db: DatabaseSync;
  readonly #path: string;
  readonly #counts: ReadCounts;
  readonly #manner: Manner;
  readonly #stamp: string;
  /** Thousands of objects are asked the same questions. */
  readonly #statements = new Map<string, StatementSync>();

  constructor(sqlite: typeof import("node:sqlite"), path: string, counts: ReadCounts) {
    this.#path = path;
    this.#counts = counts;
    this.#stamp = this.#look();
    this.#manner = asking(path, () => mannerOf(path));
    counts.files += 1;
    const url = pathToFileURL(path);
    url.search = OPTIONS[this.#manner];
    this.#db = asking(path, () => new sqlite.DatabaseSync(url, { readOnly: true, timeout: WAIT_MS }));
    // Then SQLite keeps in memory what it would share with other processes through a file.
    if (this.#manner === "alone") asking(path, () => this.#db.exec("PRAGMA locking_mode = EXCLUSIVE"));
  }

  schema(): DatabaseSchema {
    const tables = new Map<string, string[]>();
    const columns = "SELECT lower(m.name) AS name, lower(c.name) AS col FROM sqlite_master m JOIN pragma_table_info(m.name) c WHERE m.type = 'table'";
    for (const { name, col } of this.all({ sql: columns, values: [] })) tables.set(String(name), [...(tables.get(String(name)) ?? []), String(col)]);
    return { userVersion: Number(this.one({ sql: "PRAGMA user_version", values: [] })?.user_version ?? 0), tables };
  }

  all({ sql, values }: Query): Row[] {
    this.#counts.queries += 1;
    const rows = asking(this.#path, () => this.#prepared(sql).all(...values));
    this.#counts.rows += rows.length;
    return rows;
  }

  one(query: Query): Row | null {
    return this.all(query)[0] ?? null;
  }

  /** One at a time: an object may hold more than fits into memory. */
  *records(query: Query): Generator<RecordRow> {
    const { sql, values } = query;
    const limited = `SELECT "row", "position", octet_length(record) AS bytes, iif(octet_length(record) > ${MAX_RECORD}, NULL, CAST(record AS BLOB)) AS record FROM (${sql})`;
    this.#counts.queries += 1;
    const rows = asking(this.#path, () => this.#prepared(limited).iterate(...values));
    for (let next = asking(this.#path, () => rows.next()); next.done !== true; next = asking(this.#path, () => rows.next())) {
      const { row, position, record, bytes } = next.value as Row;
      const content = record instanceof Uint8Array ? record : null;
      this.#counts.rows += 1;
      this.#counts.bytes += content?.length ?? 0;
      yield { row: String(row), position: Number(position), record: content, bytes: Number(bytes ?? 0) };
    }
  }

  /** Everything asked in it is answered from one moment. */
  moment<T>(ask: () => T): T {
    asking(this.#path, () => this.#db.exec("BEGIN"));
    try {
      return ask();
    } finally {
      this.#db.exec("ROLLBACK");
    }
  }

  /** Where we do not lock, somebody may have written while we read: then what we read is worth nothing. */
  checkUndisturbed(): void {
    if (this.#manner !== "locks" && this.#look() !== this.#stamp) throw new DatabaseTrouble("database-busy", "it was written to while it was being read");
  }

  close(): void {
    this.#db.close();
  }

  #prepared(sql: string): StatementSync {
    const statement = this.#statements.get(sql) ?? this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #look(): string {
    const parts = [this.#path, this.#path + LOG_SUFFIX].map((path) => statOrNull(path));
    return parts.map((stats) => (stats === null ? "-" : `${stats.ino} ${stats.size} ${stats.mtimeMs}`)).join(" ");
  }
}

const BUSY = 5;
const LOCKED = 6;
const SQLITE_CODE = 0xff;

function asking<T>(path: string, ask: () => T): T {
  try {
    return ask();
  } catch (error) {
    const { errcode, message } = error as Error & { errcode?: number };
    const code = (errcode ?? 0) & SQLITE_CODE;
    if (code === BUSY || code === LOCKED) throw new DatabaseTrouble("database-busy", `${message}: another process keeps it to itself`);
    const log = statOrNull(path + LOG_SUFFIX);
    throw new DatabaseTrouble("database-unreadable", log === null ? message : `${message} (with its log of ${log.size} bytes)`);
  }
}
