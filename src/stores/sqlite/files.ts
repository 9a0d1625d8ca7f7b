import type { Problem, ProblemCode } from "../../core/facts/problem.ts";
import { type FileState, type FolderKey, folderKey, folderOf, type Seals } from "../../core/ports/store.ts";
import { packJson, packShortLived } from "./packing.ts";
import type { Packs } from "./packs.ts";
import { OWNER } from "./schema.ts";
import type { Statements } from "./statements.ts";

const COLUMNS = "f.*, d.path AS folder_path, d.provider FROM file f JOIN folder d ON d.id = f.folder";

/** How far each file was read, and which folders were read completely. */
export class Files {
  readonly #sql: Statements;
  readonly #packs: Packs;
  /** Files of one folder follow each other. */
  #lastFolder: { readonly key: FolderKey; readonly id: number; readonly path: string } | null = null;

  constructor(sql: Statements, packs: Packs) {
    this.#sql = sql;
    this.#packs = packs;
  }

  get(path: string): FileState | null {
    const slash = path.lastIndexOf("/");
    const row = this.#sql(`SELECT ${COLUMNS} WHERE d.owner = ? AND d.path = ? AND f.name = ?`).get(
      OWNER,
      path.slice(0, slash),
      path.slice(slash + 1),
    );
    return row === undefined ? null : this.#stateOf(row);
  }

  numberOf(path: string): number | null {
    const slash = path.lastIndexOf("/");
    const sql =
      "SELECT f.id FROM file f JOIN folder d ON d.id = f.folder WHERE d.owner = ? AND d.path = ? AND f.name = ?";
    const id = this.#sql(sql).get(OWNER, path.slice(0, slash), path.slice(slash + 1))?.id;
    return id === undefined ? null : Number(id);
  }

  in(folder: FolderKey): readonly FileState[] {
    const [provider, path] = partsOf(folder);
    return this.#sql(`SELECT ${COLUMNS} WHERE d.owner = ? AND d.path = ? AND d.provider = ? AND f.within IS NULL`)
      .all(OWNER, path, provider)
      .map((row) => this.#stateOf(row));
  }

  within(database: string): readonly FileState[] {
    return this.#sql(`SELECT ${COLUMNS} WHERE d.owner = ? AND f.within = ?`)
      .all(OWNER, database)
      .map((row) => this.#stateOf(row));
  }

  unfinished(): readonly FileState[] {
    return this.#sql(
      `SELECT ${COLUMNS} WHERE d.owner = ? AND f.gone = 0 AND f.within IS NULL AND (f.size = 0 OR f.offset < f.size)`,
    )
      .all(OWNER)
      .map((row) => this.#stateOf(row));
  }

  count(): number {
    return Number(this.#sql("SELECT count(*) AS n FROM file").get()?.n);
  }

  /** Returns its id. `isGrowing`: it will be saved again soon. `parser`: the parser's state, if already packed. */
  save(s: FileState, isGrowing: boolean, parser?: Uint8Array): number {
    const folder = this.#folder(folderOf(s));
    const row = this.#sql(
      `INSERT INTO file (folder, name, within, root, identity, size, modified, offset, lines, generation, tail, gone, parser)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (folder, name) DO UPDATE SET within = excluded.within, root = excluded.root, identity = excluded.identity, size = excluded.size, modified = excluded.modified,
         offset = excluded.offset, lines = excluded.lines, generation = excluded.generation, tail = excluded.tail, gone = excluded.gone, parser = excluded.parser
       RETURNING id`,
    ).get(
      folder.id,
      s.path.slice(folder.path.length + 1),
      s.within,
      s.root,
      s.identity,
      s.size,
      s.modifiedMs,
      s.offset,
      s.lines,
      s.generation,
      s.tail,
      s.gone ? 1 : 0,
      parser ?? (isGrowing ? packShortLived : packJson)(s.parser ?? null),
    );
    return Number(row?.id);
  }

  /** Problems of these files and of those below the folders `within`. */
  problemsOf(files: readonly string[], within: readonly string[]): readonly Problem[] {
    const path = "d.path || '/' || f.name";
    const isWanted = `${path} IN (SELECT value FROM json_each(?1)) OR EXISTS (SELECT 1 FROM json_each(?2) WHERE ${path} > value || '/' AND ${path} < value || '0')`;
    return this.#sql(
      `SELECT code, place, detail, times FROM problem p JOIN file f ON f.id = p.file JOIN folder d ON d.id = f.folder WHERE ${isWanted} ORDER BY p.id`,
    )
      .all(JSON.stringify(files), JSON.stringify(within))
      .map((row) => ({
        code: row.code as ProblemCode,
        where: row.place as string,
        detail: row.detail as string,
        times: Number(row.times),
      }));
  }

  #folder(key: FolderKey): { readonly id: number; readonly path: string } {
    const last = this.#lastFolder;
    if (last?.key === key) return last;
    const [provider, path] = partsOf(key);
    const known = this.#sql("SELECT id FROM folder WHERE owner = ? AND path = ? AND provider = ?").get(
      OWNER,
      path,
      provider,
    )?.id;
    const id =
      known ??
      this.#sql("INSERT INTO folder (owner, path, provider) VALUES (?, ?, ?)").run(OWNER, path, provider)
        .lastInsertRowid;
    this.#lastFolder = { key, id: Number(id), path };
    return this.#lastFolder;
  }

  /** Ids assigned in a transaction that failed are invalid. */
  forget(): void {
    this.#lastFolder = null;
  }

  seals(): Seals {
    const rows = this.#sql("SELECT provider, path, seal FROM folder WHERE owner = ? AND seal IS NOT NULL").all(OWNER);
    return new Map(rows.map((row) => [folderKey(row.provider as string, row.path as string), Number(row.seal)]));
  }

  seal(folders: ReadonlyMap<FolderKey, number | null>): void {
    for (const [key, seal] of folders)
      this.#sql("UPDATE folder SET seal = ? WHERE id = ?").run(seal, this.#folder(key).id);
  }

  #stateOf(row: Record<string, unknown>): FileState {
    const packs = this.#packs;
    return {
      path: `${row.folder_path}/${row.name}`,
      within: row.within as string | null,
      root: row.root as string,
      provider: row.provider as string,
      identity: row.identity as string,
      size: Number(row.size),
      modifiedMs: Number(row.modified),
      offset: Number(row.offset),
      lines: Number(row.lines),
      generation: Number(row.generation),
      tail: row.tail as string,
      // Needed only to continue reading the file.
      get parser() {
        return packs.value(row.parser as Uint8Array);
      },
      gone: row.gone === 1,
    };
  }
}

function partsOf(key: FolderKey): [provider: string, path: string] {
  const colon = key.indexOf(":");
  return [key.slice(0, colon), key.slice(colon + 1)];
}
