import { placeName } from "../../core/findings.ts";
import { placeOf } from "../../core/ids.ts";
import type { Observation } from "../../core/observation.ts";
import { pack, unpack } from "./packing.ts";
import type { Statements } from "./statements.ts";

/** A file that grows line by line would leave a chunk a line; when there are many small ones at its end they are packed together. Large ones stay as they are. */
const MANY_CHUNKS = 24;
const SMALL_CHUNK = 32 << 10;
/** What was just read is linked next, and then mostly left alone. */
const FEW_FACTS = 16_000;
/** The facts of files, packed. A chunk never changes; what replaces rows of it comes in a later one, which names them. */
export class Chunks {
  readonly #sql: Statements;
  readonly #unpacked = new Map<number, readonly Observation[]>();
  #unpackedFacts = 0;
  /** So many facts stay unpacked. */
  keep = FEW_FACTS;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  forget(): void {
    this.#unpacked.clear();
    this.#unpackedFacts = 0;
  }

  add(file: number, path: string, observations: readonly Observation[], replaces: readonly string[]): void {
    if (observations.length === 0 && replaces.length === 0) return;
    const rows = this.#sql("SELECT id, replaces, length(facts) AS size FROM chunk WHERE file = ? ORDER BY id DESC").all(file);
    const large = rows.findIndex((row) => Number(row.size) >= SMALL_CHUNK);
    const small = large < 0 ? rows : rows.slice(0, large);
    if (small.length < MANY_CHUNKS) {
      this.#insert(file, path, observations, rows.length === 0 ? [] : replaces);
      return;
    }
    const gone = new Gone(path, replaces);
    const kept = this.#standing(small, path, gone);
    for (const { id } of small) {
      this.#sql("DELETE FROM chunk WHERE id = ?").run(Number(id));
      this.#drop(Number(id));
    }
    this.#insert(file, path, [...kept, ...observations], large < 0 ? [] : gone.rows);
  }

  #insert(file: number, path: string, facts: readonly Observation[], replaces: readonly string[]) {
    const rows = replaces.length === 0 ? null : JSON.stringify(replaces);
    const { lastInsertRowid } = this.#sql("INSERT INTO chunk (file, facts, replaces) VALUES (?, ?, ?)").run(file, pack(facts, path), rows);
    // What was just told is what will be linked next.
    this.#remember(Number(lastInsertRowid), facts);
  }

  /** What a file says, without what was replaced. */
  of(file: number, path: string): Observation[] {
    return this.#standing(this.#sql("SELECT id, replaces FROM chunk WHERE file = ? ORDER BY id DESC").all(file), path, new Gone(path, []));
  }

  /** Newest chunk first. */
  #standing(chunks: readonly Readonly<Record<string, unknown>>[], path: string, gone: Gone): Observation[] {
    const facts: Observation[] = [];
    for (const { id, replaces } of chunks) {
      for (const o of this.#chunk(Number(id), path)) if (!gone.has(o)) facts.push(o);
      if (replaces !== null) gone.add(JSON.parse(replaces as string) as string[]);
    }
    return facts;
  }

  /** A running thread asks for the same ones ten times a second. */
  #chunk(id: number, path: string): readonly Observation[] {
    const known = this.#unpacked.get(id);
    if (known !== undefined) return known;
    const facts = unpack(this.#sql("SELECT facts FROM chunk WHERE id = ?").get(id)?.facts as Uint8Array | undefined, path);
    this.#remember(id, facts);
    return facts;
  }

  #remember(id: number, facts: readonly Observation[]) {
    this.#unpacked.set(id, facts);
    this.#unpackedFacts += facts.length;
    for (const oldest of this.#unpacked.keys()) {
      if (this.#unpackedFacts <= this.keep || oldest === id) break;
      this.#drop(oldest);
    }
  }

  #drop(id: number) {
    this.#unpackedFacts -= this.#unpacked.get(id)?.length ?? 0;
    this.#unpacked.delete(id);
  }
}

/** Rows of one file that came again, so that what older chunks say about them no longer holds. */
class Gone {
  readonly #path: string;
  readonly #rows = new Set<string>();
  readonly #places = new Set<string>();

  constructor(path: string, rows: readonly string[]) {
    this.#path = path;
    this.add(rows);
  }

  get rows(): readonly string[] {
    return [...this.#rows];
  }

  add(rows: readonly string[]): void {
    for (const row of rows) {
      this.#rows.add(row);
      this.#places.add(placeName(this.#path, 0, row));
    }
  }

  has(o: Observation): boolean {
    return this.#places.size > 0 && this.#places.has(placeOf(o.id));
  }
}
