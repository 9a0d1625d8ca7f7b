import type { AgentKey } from "../../core/facts/ids.ts";
import type {
  FileBatch,
  IndexedText,
  RecordPlace,
  SearchHit,
  TextBatch,
  TextDue,
  TextPosition,
} from "../../core/ports/store.ts";
import { hash } from "../../core/tools/hash.ts";
import { textDueAfter, wordsOf } from "../consistency.ts";
import type { Files } from "./files.ts";
import { packJson, unpackJson } from "./packing.ts";
import type { Statements } from "./statements.ts";

/** More hits are fetched than needed, by this factor, because forks repeat texts. */
const COPIES = 4;

/** The full-text index: words and the positions of their texts. The texts themselves are not stored. */
export class Texts {
  readonly #sql: Statements;
  readonly #files: Files;
  readonly #owner: string;
  readonly #speakers = new Map<AgentKey, number>();

  constructor(sql: Statements, files: Files, owner: string) {
    this.#sql = sql;
    this.#files = files;
    this.#owner = owner;
  }

  forget(): void {
    this.#speakers.clear();
  }

  /**
   * The texts of a batch that can be indexed now. Stores where to continue if some are left for later. `isAppended`: the
   * file was not replaced.
   */
  textsToIndex(file: number, batch: FileBatch, isAppended: boolean): readonly IndexedText[] {
    const before = isAppended && batch.before !== null ? this.#position(file) : null;
    const due = textDueAfter(batch, before, isAppended);
    if (due === null) {
      if (before !== null || !isAppended) this.#setPosition(file, null);
      return batch.texts ?? [];
    }
    if (due !== before) this.#setPosition(file, due);
    return [];
  }

  due(under: readonly string[]): readonly TextDue[] {
    return this.#sql(
      `SELECT d.path || '/' || f.name AS path, f.modified, f.offset - t.offset AS bytes FROM text_due t JOIN file f ON f.id = t.file JOIN folder d ON d.id = f.folder
       WHERE f.root IN (SELECT value FROM json_each(?)) ORDER BY f.modified DESC, path`,
    )
      .all(JSON.stringify(under))
      .map((row) => ({ path: row.path as string, modifiedMs: Number(row.modified), bytes: Number(row.bytes) }));
  }

  position(path: string): TextPosition | null {
    const file = this.#files.numberOf(path);
    return file === null ? null : this.#position(file);
  }

  addBatches(batches: readonly TextBatch[]): void {
    // Positions first, because any other statement between two texts makes FTS5 flush its buffer.
    const taken = batches.map((batch) => ({ file: this.#advance(batch), texts: batch.texts }));
    for (const { file, texts } of taken) if (file !== null) for (const text of texts) this.add(file, text);
  }

  /** Advances the position of the file and returns its id; null if the batch does not continue what is indexed. */
  #advance({ file: { path, generation }, from, to }: TextBatch): number | null {
    const [number, stored] = [this.#files.numberOf(path), this.#files.get(path)];
    if (number === null || stored?.generation !== generation || this.#position(number)?.offset !== from.offset)
      return null;
    this.#setPosition(number, to.offset < stored.offset ? to : null);
    return number;
  }

  #position(file: number): TextPosition | null {
    const row = this.#sql("SELECT offset, lines, parser FROM text_due WHERE file = ?").get(file);
    if (row === undefined) return null;
    return {
      offset: Number(row.offset),
      lines: Number(row.lines),
      parser: row.parser === null ? undefined : unpackJson(row.parser as Uint8Array),
    };
  }

  #setPosition(file: number, to: TextPosition | null): void {
    if (to === null) this.#sql("DELETE FROM text_due WHERE file = ?").run(file);
    else
      this.#sql("INSERT OR REPLACE INTO text_due (file, offset, lines, parser) VALUES (?, ?, ?, ?)").run(
        file,
        to.offset,
        to.lines,
        to.parser === undefined ? null : packJson(to.parser),
      );
  }

  add(file: number, { speaker, at, record, place, text }: IndexedText): void {
    const added = this.#sql(
      "INSERT INTO said (file, speaker, at, record, line, offset, place) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ).run(
      file,
      this.#speaker(speaker),
      at === null ? null : Math.round(at),
      record === null ? null : hash(record),
      "row" in place ? 0 : place.line,
      "row" in place ? 0 : place.offset,
      "row" in place ? place.row : null,
    );
    this.#sql("INSERT INTO words (rowid, text) VALUES (?, ?)").run(added.lastInsertRowid, text);
  }

  retract(file: number): void {
    this.#sql("DELETE FROM words WHERE rowid IN (SELECT id FROM said WHERE file = ?)").run(file);
    this.#sql("DELETE FROM said WHERE file = ?").run(file);
  }

  retractRow(file: number, row: string): void {
    this.#sql("DELETE FROM words WHERE rowid IN (SELECT id FROM said WHERE file = ? AND place = ?)").run(file, row);
    this.#sql("DELETE FROM said WHERE file = ? AND place = ?").run(file, row);
  }

  #speaker(key: AgentKey): number {
    const known =
      this.#speakers.get(key) ??
      this.#sql("SELECT id FROM speaker WHERE owner = ? AND key = ?").get(this.#owner, key)?.id;
    const id = Number(
      known ?? this.#sql("INSERT INTO speaker (owner, key) VALUES (?, ?)").run(this.#owner, key).lastInsertRowid,
    );
    this.#speakers.set(key, id);
    return id;
  }

  search(words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[] {
    const terms = words.flatMap(wordsOf).map((word) => `"${word}"`);
    if (terms.length === 0) return [];
    const rows = this.#sql(
      `SELECT s.key, d.path || '/' || f.name AS path, said.line, said.offset, said.place, said.at, said.record, said.id FROM words
         JOIN said ON said.id = words.rowid
         JOIN file f ON f.id = said.file
         JOIN folder d ON d.id = f.folder
         JOIN speaker s ON s.id = said.speaker
       WHERE words MATCH ? AND f.root IN (SELECT value FROM json_each(?))
       ORDER BY bm25(words), said.at DESC, said.id LIMIT ?`,
    ).all(`${terms.join(" ")}*`, JSON.stringify(under), limit * COPIES);
    const seen = new Set<unknown>();
    const hits: SearchHit[] = [];
    for (const row of rows) {
      const what = row.record ?? `${row.path}:${row.place ?? row.line}`;
      if (seen.has(what)) continue;
      seen.add(what);
      const place: RecordPlace =
        row.place === null ? { line: Number(row.line), offset: Number(row.offset) } : { row: row.place as string };
      hits.push({
        speaker: row.key as AgentKey,
        path: row.path as string,
        place,
        at: row.at === null ? null : Number(row.at),
      });
    }
    return hits.slice(0, limit);
  }
}
