import { placeName } from "../../core/findings.ts";
import { placeOf } from "../../core/ids.ts";
import type { Observation } from "../../core/observation.ts";
import { pack, unpack } from "./packing.ts";
import type { Statements } from "./statements.ts";

/** A file that grows line by line would leave a chunk a line; past this many they are packed anew. */
const MANY_CHUNKS = 24;
/** Facts kept unpacked: a few running threads' worth, some tens of megabytes. */
const MAX_UNPACKED = 50_000;

/** The facts of files, packed. A chunk never changes; what replaces rows of it comes in a later one, which names them. */
export class Chunks {
  readonly #sql: Statements;
  readonly #unpacked = new Map<number, readonly Observation[]>();
  #unpackedFacts = 0;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  forget(): void {
    this.#unpacked.clear();
    this.#unpackedFacts = 0;
  }

  add(file: number, path: string, observations: readonly Observation[], replaces: readonly string[]): void {
    if (observations.length === 0 && replaces.length === 0) return;
    const count = Number(this.#sql("SELECT count(*) AS n FROM chunk WHERE file = ?").get(file)?.n);
    if (count < MANY_CHUNKS) {
      this.#insert(file, path, observations, count === 0 ? [] : replaces);
      return;
    }
    const gone = new Set(replaces.map((row) => placeName(path, 0, row)));
    const kept = this.of(file, path).filter((o) => !gone.has(placeOf(o.id)));
    this.#sql("DELETE FROM chunk WHERE file = ?").run(file);
    this.#insert(file, path, [...kept, ...observations], []);
  }

  #insert(file: number, path: string, facts: readonly Observation[], replaces: readonly string[]) {
    const rows = replaces.length === 0 ? null : JSON.stringify(replaces);
    const { lastInsertRowid } = this.#sql("INSERT INTO chunk (file, facts, replaces) VALUES (?, ?, ?)").run(file, pack(facts, path), rows);
    // What was just told is what will be linked next.
    this.#remember(Number(lastInsertRowid), facts);
  }

  /** What a file says, without what was replaced. */
  of(file: number, path: string): Observation[] {
    const gone = new Set<string>();
    const facts: Observation[] = [];
    for (const { id, replaces } of this.#sql("SELECT id, replaces FROM chunk WHERE file = ? ORDER BY id DESC").all(file)) {
      for (const o of this.#chunk(Number(id), path)) if (gone.size === 0 || !gone.has(placeOf(o.id))) facts.push(o);
      if (replaces !== null) for (const row of JSON.parse(replaces as string) as string[]) gone.add(placeName(path, 0, row));
    }
    return facts;
  }

  /** A running thread asks for the same ones ten times a second. */
  #chunk(id: number, path: string): readonly Observation[] {
    const known = this.#unpacked.get(id);
    if (known !== undefined) return known;
    const facts = unpack(this.#sql("SELECT facts FROM chunk WHERE id = ?").get(id)?.facts as Uint8Array, path);
    this.#remember(id, facts);
    return facts;
  }

  #remember(id: number, facts: readonly Observation[]) {
    this.#unpacked.set(id, facts);
    this.#unpackedFacts += facts.length;
    for (const [oldest, list] of this.#unpacked) {
      if (this.#unpackedFacts <= MAX_UNPACKED || oldest === id) break;
      this.#unpacked.delete(oldest);
      this.#unpackedFacts -= list.length;
    }
  }
}
