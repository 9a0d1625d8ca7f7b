import { hash } from "../../core/hash.ts";
import type { Statements } from "./statements.ts";

/**
 * Which threads must be linked together because they have something in common. Every key is kept once, as a hash, with the first thread that had it: whoever
 * comes with the same key later is joined to that one. Two keys with one hash only mean that threads are linked together which need not be.
 */
export class Joins {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  add(keys: Iterable<string>, thread: number): void {
    // In order, so that they come to lie side by side in the table; all at once, because there is one for every record.
    const hashes = [...new Set(Array.from(keys, hash))].sort((a, b) => a - b);
    if (hashes.length === 0) return;
    const list = JSON.stringify(hashes);
    const { changes } = this.#sql("INSERT INTO holder (hash, thread) SELECT value, ?2 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING").run(list, thread);
    if (Number(changes) === hashes.length) return;
    const others = this.#sql("SELECT DISTINCT thread FROM holder WHERE hash IN (SELECT value FROM json_each(?1)) AND thread <> ?2").all(list, thread);
    for (const { thread: other } of others) this.#join(thread, Number(other));
  }

  /** What was worked out about the other one before it was known to belong here is out of date. */
  #join(thread: number, other: number) {
    const insert = this.#sql("INSERT OR IGNORE INTO joined (thread, other) VALUES (?, ?)");
    if (insert.run(thread, other).changes === 0) return;
    insert.run(other, thread);
    this.#sql("UPDATE thread SET version = version + 1 WHERE id = ?").run(other);
  }

  /** The thread itself, and all that are joined to it, directly or through others. */
  around(thread: number): ReadonlySet<number> {
    const found = new Set([thread]);
    for (const one of found) for (const { other } of this.#sql("SELECT other FROM joined WHERE thread = ?").all(one)) found.add(Number(other));
    return found;
  }
}
