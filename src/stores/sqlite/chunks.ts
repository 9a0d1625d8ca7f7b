import type { StatementSync } from "node:sqlite";
import type { Observation } from "../../core/observation.ts";
import { pack, unpack } from "./packing.ts";

/** A file that grows line by line would leave a chunk a line; when there are many small ones they are packed together. Large ones are left as they are. */
const MANY_CHUNKS = 24;
const SMALL_CHUNK = 32 << 10;
/** Facts kept unpacked: a few running threads' worth, some tens of megabytes. */
const MAX_UNPACKED = 50_000;

/** The facts of files, packed, and the last few of them unpacked. */
export class Chunks {
  readonly #sql: (text: string) => StatementSync;
  readonly #unpacked = new Map<number, readonly Observation[]>();
  #unpackedFacts = 0;

  constructor(sql: (text: string) => StatementSync) {
    this.#sql = sql;
  }

  add(file: number, path: string, observations: readonly Observation[]): void {
    const small = this.#sql("SELECT id FROM chunk WHERE file = ? AND length(facts) < ? ORDER BY id").all(file, SMALL_CHUNK);
    const old = small.length >= MANY_CHUNKS ? small.map((row) => Number(row.id)) : [];
    const all = old.length > 0 ? [...old.flatMap((id) => this.get(id, path)), ...observations] : observations;
    for (const id of old) {
      this.#sql("DELETE FROM chunk WHERE id = ?").run(id);
      this.#drop(id);
    }
    const { lastInsertRowid } = this.#sql("INSERT INTO chunk (file, facts) VALUES (?, ?)").run(file, pack(all, path));
    // What was just told is what will be linked next.
    this.#remember(Number(lastInsertRowid), all);
  }

  /** A chunk never changes; a running thread asks for the same ones ten times a second. */
  get(id: number, path: string): readonly Observation[] {
    const known = this.#unpacked.get(id);
    if (known !== undefined) return known;
    const facts = unpack(this.#sql("SELECT facts FROM chunk WHERE id = ?").get(id)?.facts as Uint8Array, path);
    this.#remember(id, facts);
    return facts;
  }

  #remember(id: number, facts: readonly Observation[]) {
    this.#unpacked.set(id, facts);
    this.#unpackedFacts += facts.length;
    for (const oldest of this.#unpacked.keys()) {
      if (this.#unpackedFacts <= MAX_UNPACKED || oldest === id) break;
      this.#drop(oldest);
    }
  }

  #drop(id: number) {
    this.#unpackedFacts -= this.#unpacked.get(id)?.length ?? 0;
    this.#unpacked.delete(id);
  }

  /** What was written since the last commit is void. */
  forget(): void {
    this.#unpacked.clear();
    this.#unpackedFacts = 0;
  }
}
