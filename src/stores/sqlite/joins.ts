import { hash } from "../../core/hash.ts";
import { type AgentKey, threadOf } from "../../core/ids.ts";
import { crossKeys, threadsIn } from "../../core/mentions.ts";
import type { Observation } from "../../core/observation.ts";
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
    const insert = this.#sql("INSERT INTO holder (hash, thread) VALUES (?, ?) ON CONFLICT DO NOTHING");
    const holder = this.#sql("SELECT thread FROM holder WHERE hash = ?");
    const others = new Set<number>();
    // In order, so that keys that lie side by side in the table are come to together.
    for (const key of [...new Set(Array.from(keys, hash))].sort((x, y) => x - y)) {
      if (insert.run(key, thread).changes === 0) others.add(Number(holder.get(key)?.thread));
    }
    for (const other of others) if (other !== thread) this.#join(thread, other);
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

/** What each thread says that other threads may say too. */
export function keysByThread(observations: readonly Observation[]): ReadonlyMap<AgentKey, readonly string[]> {
  const keys = new Map<AgentKey, string[]>();
  for (const o of observations) {
    // Threads that are only named are known by it as well.
    for (const thread of threadsIn(o)) if (!keys.has(thread)) keys.set(thread, []);
    keys.get(threadOf(o.speaker))?.push(...crossKeys(o));
  }
  return keys;
}
