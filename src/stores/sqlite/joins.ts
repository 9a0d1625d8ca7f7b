import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import type { Observation } from "../../core/facts/observation.ts";
import { crossKeys, threadsIn } from "../../core/link/mentions.ts";
import { hash } from "../../core/tools/hash.ts";
import type { Statements } from "./statements.ts";

/**
 * Which threads must be linked together because they have something in common. Every key is kept once, as a hash, with
 * the first thread that had it: whoever comes with the same key later is joined to that one. Two keys with one hash
 * only mean that threads are linked together which need not be.
 */
export class Joins {
  readonly #sql: Statements;
  readonly #waiting = new Map<number, Set<number>>();

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Written by `flush`: files of one thread are mostly read together. */
  add(keys: Iterable<string>, thread: number): void {
    const hashes = this.#waiting.get(thread) ?? new Set();
    this.#waiting.set(thread, hashes);
    for (const key of keys) hashes.add(hash(key));
  }

  /** Drops what was not written. */
  forget(): void {
    this.#waiting.clear();
  }

  /** To be called at the end of the transaction. */
  flush(): void {
    for (const [thread, hashes] of this.#waiting) this.#write(hashes, thread);
    this.#waiting.clear();
  }

  #write(hashes: ReadonlySet<number>, thread: number) {
    // In order, so that keys that lie side by side in the table are come to together; all at once, because a statement
    // for each takes twice as long.
    const list = JSON.stringify([...hashes].sort((x, y) => x - y));
    const { changes } = this.#sql(
      "INSERT INTO holder (hash, thread) SELECT value, ?2 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING",
    ).run(list, thread);
    if (Number(changes) === hashes.size) return;
    const others = this.#sql(
      "SELECT DISTINCT thread FROM holder WHERE hash IN (SELECT value FROM json_each(?)) AND thread <> ?",
    ).all(list, thread);
    for (const other of others) this.#join(thread, Number(other.thread));
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
    for (const one of found)
      for (const { other } of this.#sql("SELECT other FROM joined WHERE thread = ?").all(one)) found.add(Number(other));
    return found;
  }
}

/** What each thread says that other threads may say too. */
export function keysByThread(observations: readonly Observation[]): ReadonlyMap<AgentKey, readonly string[]> {
  const keys = new Map<AgentKey, string[]>();
  let [speaker, own]: [AgentKey | null, string[]] = [null, []];
  for (const o of observations) {
    // Nearly all of them name no other thread.
    if (o.type === "record" || o.type === "model-call") {
      if (speaker !== o.speaker) {
        speaker = o.speaker;
        own = keys.get(threadOf(speaker)) ?? [];
        keys.set(threadOf(speaker), own);
      }
      for (const key of crossKeys(o)) own.push(key);
      continue;
    }
    // Threads that are only named are known by it as well.
    for (const thread of threadsIn(o)) if (!keys.has(thread)) keys.set(thread, []);
    keys.get(threadOf(o.speaker))?.push(...crossKeys(o));
  }
  return keys;
}
