import type { FactColumns } from "../../core/facts/fact-columns.ts";
import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import { OFFERED, SOUGHT } from "../../core/link/lineage-keys.ts";
import { crossKeys, threadsIn } from "../../core/link/mentions.ts";
import { hash } from "../../core/tools/hash.ts";
import { Bounded } from "./bounded.ts";
import type { Statements } from "./statements.ts";

/** The keys of a few records are remembered, because the next record of the thread repeats some. */
const FEW = 64;
const REMEMBERED = 1_024;

/**
 * Which threads must be linked together because they share keys. Every key is stored once, as a hash, with the first
 * thread that has it; later threads with the same key are joined to that one. A sought key joins its threads only to
 * those that offer it. A hash collision only joins threads
 * unnecessarily.
 */
export class Joins {
  readonly #sql: Statements;
  readonly #waiting = new Map<number, Waiting>();
  /** The last keys that were written, by hash, with their thread; a thread repeats its own key with every record. */
  readonly #written = new Bounded<number, number>(() => 1, REMEMBERED);

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Written by `flush`: files of one thread are mostly read together. */
  add(keys: Iterable<string>, thread: number): void {
    const waiting = this.#waiting.get(thread) ?? { held: new Set(), offered: new Set(), sought: new Set() };
    this.#waiting.set(thread, waiting);
    for (const key of keys)
      if (key.startsWith(SOUGHT)) waiting.sought.add(hash(key.slice(SOUGHT.length)));
      else if (key.startsWith(OFFERED)) waiting.offered.add(hash(key.slice(OFFERED.length)));
      else waiting.held.add(hash(key));
  }

  /** Discards what `flush` has not written. */
  forget(): void {
    this.#waiting.clear();
    this.#written.clear();
  }

  /** To be called at the end of the transaction. */
  flush(): void {
    for (const [thread, { held, offered, sought }] of this.#waiting) {
      this.#write(held.union(offered), thread);
      if (offered.size > 0) this.#joinAll("seeker", listOf(offered), thread);
      if (sought.size > 0) this.#seek(listOf(sought), thread);
    }
    this.#waiting.clear();
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

  #write(all: ReadonlySet<number>, thread: number) {
    const hashes = all.size > FEW ? all : new Set([...all].filter((one) => this.#written.get(one) !== thread));
    if (all.size <= FEW) for (const one of hashes) this.#written.set(one, thread);
    if (hashes.size === 0) return;
    const list = listOf(hashes);
    const { changes } = this.#sql(
      "INSERT INTO holder (hash, thread) SELECT value, ?2 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING",
    ).run(list, thread);
    if (Number(changes) === hashes.size) return;
    this.#joinAll("holder", list, thread);
  }

  /** The projection of the other thread is outdated now. */
  #join(thread: number, other: number) {
    const insert = this.#sql("INSERT OR IGNORE INTO joined (thread, other) VALUES (?, ?)");
    if (insert.run(thread, other).changes === 0) return;
    insert.run(other, thread);
    this.#sql("UPDATE thread SET version = version + 1 WHERE id = ?").run(other);
  }

  /** The thread and all threads joined to it, directly or indirectly. */
  around(thread: number): ReadonlySet<number> {
    const found = new Set([thread]);
    for (const one of found)
      for (const { other } of this.#sql("SELECT other FROM joined WHERE thread = ?").all(one)) found.add(Number(other));
    return found;
  }
}

interface Waiting {
  readonly held: Set<number>;
  readonly offered: Set<number>;
  readonly sought: Set<number>;
}

/**
 * Sorted, so that neighbouring keys of the table are written together; as one parameter, because a statement per key
 * takes twice as long.
 */
const listOf = (hashes: ReadonlySet<number>) => JSON.stringify([...hashes].sort((x, y) => x - y));

/** The keys of each thread that other threads may share. */
export function keysByThread(facts: FactColumns): ReadonlyMap<AgentKey, readonly string[]> {
  const keys = new Map<AgentKey, string[]>();
  const keysOf = (thread: AgentKey) => {
    const known = keys.get(thread) ?? [];
    keys.set(thread, known);
    return known;
  };
  let [speaker, own]: [AgentKey | null, string[]] = [null, []];
  const add = (key: string, by: AgentKey) => {
    if (by !== speaker) [speaker, own] = [by, keysOf(threadOf(by))];
    own.push(key);
  };
  for (const one of facts.speakers) keysOf(threadOf(one));
  facts.eachRecordKey(add);
  facts.eachResponseName(add);
  for (const o of facts.rare) {
    // Also for threads that are only mentioned.
    for (const thread of threadsIn(o)) keysOf(thread);
    keysOf(threadOf(o.speaker)).push(...crossKeys(o));
  }
  return keys;
}
