import type { FactColumns } from "../../core/facts/fact-columns.ts";
import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import { lineageKeys, OFFERED, SOUGHT } from "../../core/link/lineage-keys.ts";
import { crossKeys, otherThreads } from "../../core/link/mentions.ts";
import { cached } from "../../core/tools/collections.ts";
import { hash } from "../../core/tools/hash.ts";
import { checkCount } from "../fault.ts";
import { LruCache } from "./lru-cache.ts";
import type { Statements } from "./statements.ts";

/** The keys of a few records are remembered, because the next record of the thread repeats some. */
const FEW = 64;
const REMEMBERED = 1_024;

/**
 * Which threads must be linked together because they share keys. Every key is stored once, as a hash, with the first
 * thread that has it; later threads with the same key are joined to that one. A sought key joins its threads only to
 * those that offer it. A hash collision only joins threads unnecessarily.
 */
export class Joins {
  readonly #sql: Statements;
  /** What `flush` has not written: the threads of each key, and the keys that each thread offers and seeks. */
  readonly #held = new Map<number, number | Set<number>>();
  readonly #offered = new Map<number, Set<number>>();
  readonly #sought = new Map<number, Set<number>>();
  /** The last keys that were written, by hash, with their thread; a thread repeats its own key with every record. */
  readonly #written = new LruCache<number, number>(() => 1, REMEMBERED);

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Written by `flush`, so that all keys of a transaction are written together. */
  add(keys: Iterable<string>, thread: number): void {
    for (const key of keys) {
      const mark = key[0];
      if (mark === SOUGHT) cached(this.#sought, thread, () => new Set()).add(hash(key.slice(1)));
      else if (mark === OFFERED) {
        const hashed = hash(key.slice(1));
        cached(this.#offered, thread, () => new Set()).add(hashed);
        this.#hold(hashed, thread);
      } else this.#hold(hash(key), thread);
    }
  }

  #hold(hashed: number, thread: number) {
    const known = this.#held.get(hashed);
    if (known === undefined) this.#held.set(hashed, thread);
    else if (typeof known !== "number") known.add(thread);
    else if (known !== thread) this.#held.set(hashed, new Set([known, thread]));
  }

  /** Discards what `flush` has not written. */
  forget(): void {
    this.#clear();
    this.#written.clear();
  }

  #clear() {
    this.#held.clear();
    this.#offered.clear();
    this.#sought.clear();
  }

  /** To be called at the end of the transaction. */
  flush(): void {
    // Sorted, so that neighbouring keys of the table are written together.
    const hashes = this.#unwritten().sort((a, b) => a - b);
    let from = 0;
    for (const [size, insert] of INSERTS)
      for (; from + size <= hashes.length; from += size) this.#write(insert, hashes.slice(from, from + size));
    for (const [thread, offered] of this.#offered) this.#joinAll("seeker", listOf(offered), thread);
    for (const [thread, sought] of this.#sought) this.#seek(listOf(sought), thread);
    this.#clear();
  }

  #unwritten(): number[] {
    const hashes = [...this.#held.keys()];
    if (hashes.length > FEW) return hashes;
    const left = hashes.filter((hashed) => this.#held.get(hashed) !== this.#written.get(hashed));
    for (const hashed of left) this.#written.set(hashed, this.#threadsOf(hashed)[0] ?? 0);
    return left;
  }

  #write(insert: string, hashes: readonly number[]) {
    const values: number[] = [];
    for (const hashed of hashes) values.push(hashed, this.#threadsOf(hashed)[0] ?? 0);
    const isNew = Number(this.#sql(insert).run(...values).changes) === hashes.length;
    for (const hashed of hashes) {
      if (isNew && typeof this.#held.get(hashed) === "number") continue;
      const threads = this.#threadsOf(hashed);
      const first = Number(this.#sql("SELECT thread FROM holder WHERE hash = ?").get(hashed)?.thread);
      for (const thread of threads) if (thread !== first) this.#join(thread, first);
    }
  }

  #threadsOf(hashed: number): readonly number[] {
    const known = this.#held.get(hashed) ?? [];
    return typeof known === "number" ? [known] : [...known];
  }

  /** Many threads may seek the same key; they are joined only to those that offer it. */
  #seek(list: string, thread: number) {
    this.#sql("INSERT OR IGNORE INTO seeker (hash, thread) SELECT value, ?2 FROM json_each(?1)").run(list, thread);
    this.#joinAll("holder", list, thread);
  }

  #joinAll(table: "holder" | "seeker", list: string, thread: number) {
    const others = this.#sql(
      `SELECT DISTINCT thread FROM ${table} WHERE hash IN (SELECT value FROM json_each(?)) AND thread <> ?`,
    ).all(list, thread);
    for (const other of others) this.#join(thread, Number(other.thread));
  }

  /** The projection of the other thread is outdated now. */
  #join(thread: number, other: number) {
    const insert = this.#sql("INSERT OR IGNORE INTO joined (thread, other) VALUES (?, ?)");
    if (insert.run(thread, other).changes === 0) return;
    insert.run(other, thread);
    this.#sql("UPDATE thread SET joins = joins + 1 WHERE id = ?").run(thread);
    this.#sql("UPDATE thread SET joins = joins + 1, version = version + 1 WHERE id = ?").run(other);
  }

  /** The thread and all threads joined to it, directly or indirectly. */
  around(thread: number): ReadonlySet<number> {
    const found = new Set([thread]);
    for (const one of found) {
      // One statement, because another process may join threads at any moment.
      const rows = this.#sql(
        "SELECT t.joins, j.other FROM thread t LEFT JOIN joined j ON j.thread = t.id WHERE t.id = ?",
      ).all(one);
      const others = rows.flatMap(({ other }) => (other === null ? [] : [Number(other)]));
      checkCount("joined threads", others.length, Number(rows[0]?.joins));
      for (const other of others) found.add(other);
    }
    return found;
  }
}

/** Statements by the number of keys that they write: one statement per key takes twice as long. */
const INSERTS = [256, 16, 1].map((size) => {
  const rows = Array.from({ length: size }, () => "(?, ?)").join(", ");
  return [size, `INSERT INTO holder (hash, thread) VALUES ${rows} ON CONFLICT DO NOTHING`] as const;
});

const listOf = (hashes: ReadonlySet<number>) => JSON.stringify([...hashes].sort((x, y) => x - y));

/** The keys of each thread that other threads may share. */
export function keysByThread(facts: FactColumns): ReadonlyMap<AgentKey, readonly string[]> {
  const keys = new Map<AgentKey, string[]>();
  const keysOf = (thread: AgentKey) => cached(keys, thread, () => []);
  let [speaker, own]: [AgentKey | null, string[]] = [null, []];
  const add = (key: string, by: AgentKey) => {
    if (by !== speaker) [speaker, own] = [by, keysOf(threadOf(by))];
    own.push(key);
  };
  for (const one of facts.speakers) keysOf(threadOf(one));
  facts.eachRecordKey(add);
  facts.eachResponseName(add);
  for (const response of facts.finalTexts()) for (const key of lineageKeys(response)) add(key, response.speaker);
  for (const o of facts.rare) {
    const others = otherThreads(o);
    // Also for threads that are only mentioned.
    for (const thread of others) keysOf(thread);
    keysOf(threadOf(o.speaker)).push(...crossKeys(o, others));
  }
  return keys;
}
