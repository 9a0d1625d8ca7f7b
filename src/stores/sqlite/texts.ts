import { hash } from "../../core/hash.ts";
import type { AgentKey } from "../../core/ids.ts";
import type { RecordPlace, SaidText, SearchHit } from "../../core/store.ts";
import { wordsOf } from "../consistency.ts";
import type { Statements } from "./statements.ts";

/** Hits are fetched so many times over, since forks repeat what was said before them. */
const COPIES = 4;

/** Which texts hold which words, and where they stand; the texts themselves are not kept. */
export class Texts {
  readonly #sql: Statements;
  readonly #owner: string;
  readonly #speakers = new Map<AgentKey, number>();

  constructor(sql: Statements, owner: string) {
    this.#sql = sql;
    this.#owner = owner;
  }

  forget(): void {
    this.#speakers.clear();
  }

  add(file: number, { speaker, at, record, place, text }: SaidText): void {
    const said = this.#sql("INSERT INTO said (file, speaker, at, record, line, offset, place) VALUES (?, ?, ?, ?, ?, ?, ?)").run(
      file,
      this.#speaker(speaker),
      at === null ? null : Math.round(at),
      record === null ? null : hash(record),
      "row" in place ? 0 : place.line,
      "row" in place ? 0 : place.offset,
      "row" in place ? place.row : null,
    );
    this.#sql("INSERT INTO words (rowid, text) VALUES (?, ?)").run(said.lastInsertRowid, text);
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
    const known = this.#speakers.get(key) ?? this.#sql("SELECT id FROM speaker WHERE owner = ? AND key = ?").get(this.#owner, key)?.id;
    const id = Number(known ?? this.#sql("INSERT INTO speaker (owner, key) VALUES (?, ?)").run(this.#owner, key).lastInsertRowid);
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
      const place: RecordPlace = row.place === null ? { line: Number(row.line), offset: Number(row.offset) } : { row: row.place as string };
      hits.push({ speaker: row.key as AgentKey, path: row.path as string, place, at: row.at === null ? null : Number(row.at) });
    }
    return hits.slice(0, limit);
  }
}
