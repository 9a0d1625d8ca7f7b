import type { StatementSync } from "node:sqlite";
import type { AgentKey } from "../../core/ids.ts";
import type { SaidText, SearchHit } from "../../core/store.ts";
import { wordsOf } from "../consistency.ts";
import { hash } from "./packing.ts";
import { OWNER } from "./schema.ts";

/** Hits are fetched so many times over, since forks repeat what was said before them. */
const COPIES = 4;

/** What was said, by its words, and where it stands. */
export class Words {
  readonly #sql: (text: string) => StatementSync;
  readonly #speakers = new Map<AgentKey, number>();

  constructor(sql: (text: string) => StatementSync) {
    this.#sql = sql;
  }

  add(file: number, { speaker, at, record, line, offset, text }: SaidText) {
    const who = this.#speaker(speaker);
    const said = this.#sql("INSERT INTO said (file, speaker, at, record, line, offset) VALUES (?, ?, ?, ?, ?, ?)").run(
      file,
      who,
      at === null ? null : Math.round(at),
      record === null ? null : hash(record),
      line,
      offset,
    );
    this.#sql("INSERT INTO words (rowid, text) VALUES (?, ?)").run(said.lastInsertRowid, text);
  }

  #speaker(key: AgentKey): number {
    const known = this.#speakers.get(key) ?? this.#sql("SELECT id FROM speaker WHERE owner = ? AND key = ?").get(OWNER, key)?.id;
    const id = Number(known ?? this.#sql("INSERT INTO speaker (owner, key) VALUES (?, ?)").run(OWNER, key).lastInsertRowid);
    this.#speakers.set(key, id);
    return id;
  }

  retract(file: number): void {
    this.#sql("DELETE FROM words WHERE rowid IN (SELECT id FROM said WHERE file = ?)").run(file);
    this.#sql("DELETE FROM said WHERE file = ?").run(file);
  }

  search(words: readonly string[], under: readonly string[], limit: number): readonly SearchHit[] {
    const terms = words.flatMap(wordsOf).map((word) => `"${word}"`);
    if (terms.length === 0) return [];
    const rows = this.#sql(
      `SELECT s.key, f.path, said.line, said.offset, said.at, said.record, said.id FROM words
         JOIN said ON said.id = words.rowid
         JOIN file f ON f.id = said.file
         JOIN speaker s ON s.id = said.speaker
       WHERE words MATCH ? AND f.root IN (SELECT value FROM json_each(?))
       ORDER BY bm25(words), said.at DESC, said.id LIMIT ?`,
    ).all(`${terms.join(" ")}*`, JSON.stringify(under), limit * COPIES);
    const seen = new Set<unknown>();
    const hits: SearchHit[] = [];
    for (const row of rows) {
      const what = row.record ?? `${row.path}:${row.line}`;
      if (seen.has(what)) continue;
      seen.add(what);
      hits.push({
        speaker: row.key as AgentKey,
        path: row.path as string,
        line: Number(row.line),
        offset: Number(row.offset),
        at: row.at === null ? null : Number(row.at),
      });
    }
    return hits.slice(0, limit);
  }

  /** What was written since the last commit is void. */
  forget(): void {
    this.#speakers.clear();
  }
}
