import { placeName, placeOf } from "../../core/facts/ids.ts";
import type { Observation } from "../../core/facts/observation.ts";
import type { Facts } from "../../core/ports/store.ts";
import { boundHeap } from "../heap.ts";
import { Bounded } from "./bounded.ts";
import { FACT_BYTES, FileFacts } from "./file-facts.ts";
import { factsOf, pack } from "./packing.ts";
import type { Packed, Packs } from "./packs.ts";
import type { Statements } from "./statements.ts";

/**
 * A file that grows line by line would get one chunk per line. If there are many small ones at its end, they are merged.
 * Large ones are not touched.
 */
const MANY_CHUNKS = 24;
const SMALL_CHUNK = 4 << 10;
/** Size of the cache for facts that were just read: they are linked next, and rarely needed afterwards. */
const FEW_BYTES = 16 << 20;
/** The facts of a file, some of them folded. */
export type SaidInFile = Pick<Facts, "observations" | "folds">;

/**
 * The packed facts of files. A chunk never changes. If rows are replaced, a later chunk names them.
 */
export class Chunks {
  readonly #sql: Statements;
  readonly #packs: Packs;
  readonly #unpacked = new Bounded<number, readonly Observation[]>((facts) => FACT_BYTES * facts.length, FEW_BYTES);
  readonly #folded = new Bounded<number, Folded>(({ facts }) => facts.bytes, FEW_BYTES);

  constructor(sql: Statements, packs: Packs) {
    this.#sql = sql;
    this.#packs = packs;
  }

  /** Sizes of the caches in bytes. Most is for folded facts, which are requested repeatedly. */
  set keep(bytes: number) {
    this.#unpacked.limit = bytes / 16;
    this.#folded.limit = (15 * bytes) / 16;
    if (bytes === 0) this.forget();
  }

  /** Bytes in the caches. */
  get kept(): number {
    return this.#unpacked.size + this.#folded.size;
  }

  forget(): void {
    this.#unpacked.clear();
    this.#folded.clear();
  }

  /** Stores the first facts of a file, with their position in a pack. */
  addPacked(file: number, observations: readonly Observation[], { pack: id, places }: Packed): void {
    const chunk = this.#sql("INSERT INTO chunk (file, facts, pack) VALUES (?, ?, ?)").run(
      file,
      places[0] ?? null,
      id,
    ).lastInsertRowid;
    this.#unpacked.set(Number(chunk), observations);
  }

  add(file: number, path: string, observations: readonly Observation[], replaces: readonly string[]): void {
    if (observations.length === 0 && replaces.length === 0) return;
    const rows = this.#sql(
      "SELECT id, pack, replaces, length(facts) AS size FROM chunk WHERE file = ? ORDER BY id DESC",
    ).all(file);
    const large = rows.findIndex((row) => Number(row.size) >= SMALL_CHUNK);
    const small = large < 0 ? rows : rows.slice(0, large);
    const before = idsOf(rows);
    if (small.length < MANY_CHUNKS) {
      const id = this.#insert(file, path, observations, rows.length === 0 ? [] : replaces);
      this.#grow(file, before, [...before, id], observations, replaces);
      return;
    }
    const gone = new Gone(path, replaces);
    const kept = this.#standing(small, path, gone);
    for (const { id } of small) {
      this.#sql("DELETE FROM chunk WHERE id = ?").run(Number(id));
      this.#unpacked.delete(Number(id));
    }
    this.#packs.sweep(packsOf(small));
    const id = this.#insert(file, path, [...kept, ...observations], large < 0 ? [] : gone.rows);
    this.#grow(file, before, [...before.slice(0, -small.length), id], observations, replaces);
  }

  #insert(file: number, path: string, facts: readonly Observation[], replaces: readonly string[]): number {
    const rows = replaces.length === 0 ? null : JSON.stringify(replaces);
    const id = Number(
      this.#sql("INSERT INTO chunk (file, facts, replaces) VALUES (?, ?, ?)").run(file, pack(facts, path), rows)
        .lastInsertRowid,
    );
    // Cached, because new facts are linked next.
    this.#unpacked.set(id, facts);
    return id;
  }

  retract(file: number): void {
    const rows = this.#sql("SELECT pack FROM chunk WHERE file = ?").all(file);
    this.#sql("DELETE FROM chunk WHERE file = ?").run(file);
    this.#packs.sweep(packsOf(rows));
  }

  /** If the file is cached, folds the new facts in, so that nothing is read again. */
  #grow(
    file: number,
    before: readonly number[],
    chunks: readonly number[],
    observations: readonly Observation[],
    replaces: readonly string[],
  ) {
    const known = this.#folded.get(file);
    if (known === undefined) return;
    this.#folded.delete(file);
    if (replaces.length > 0 || !isSame(known.chunks, before)) return;
    known.facts.add(observations);
    this.#folded.set(file, { ...known, chunks });
  }

  /** The facts of a file without the replaced ones. */
  of(file: number, path: string): SaidInFile {
    const rows = this.#sql("SELECT id, replaces FROM chunk WHERE file = ? ORDER BY id DESC").all(file);
    // Folded facts cannot be retracted.
    if (rows.some((row) => row.replaces !== null))
      return { observations: this.#standing(rows, path, new Gone(path, [])), folds: [] };
    const chunks = idsOf(rows);
    const known = this.#folded.get(file);
    const goesOn = known !== undefined && isSame(known.chunks, chunks.slice(0, known.chunks.length));
    const { facts, chunks: read } = goesOn
      ? known
      : { facts: new FileFacts(path, () => this.#all(file, path)), chunks: [] };
    const fresh = chunks.slice(read.length);
    for (const id of fresh) {
      facts.add(this.#unpacked.get(id) ?? this.#read(id, path));
      if (fresh.length > MANY_CHUNKS) boundHeap();
    }
    this.#folded.set(file, { facts, chunks });
    return facts;
  }

  /**
   * All facts of a file without replacements. One statement, because another process may merge chunks at any moment.
   */
  #all(file: number, path: string): Observation[] {
    const all: Observation[] = [];
    for (const { id, facts: packed } of this.#sql(
      "SELECT id, facts FROM chunk WHERE file = ? ORDER BY id DESC",
    ).iterate(file)) {
      const facts = this.#unpacked.get(Number(id)) ?? this.#facts(packed, path);
      this.#unpacked.set(Number(id), facts);
      for (const fact of facts) all.push(fact);
    }
    return all;
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

  /** Cached, because a running thread requests the same chunks ten times a second. */
  #chunk(id: number, path: string): readonly Observation[] {
    const known = this.#unpacked.get(id);
    if (known !== undefined) return known;
    const facts = this.#read(id, path);
    this.#unpacked.set(id, facts);
    return facts;
  }

  #read(id: number, path: string): readonly Observation[] {
    return this.#facts(this.#sql("SELECT facts FROM chunk WHERE id = ?").get(id)?.facts, path);
  }

  #facts(packed: unknown, path: string): Observation[] {
    return factsOf(this.#packs.value(packed as Uint8Array | undefined), path);
  }
}

/** A file's facts, and the chunks they were read from, oldest first. */
interface Folded {
  readonly facts: FileFacts;
  readonly chunks: readonly number[];
}

const packsOf = (rows: readonly Readonly<Record<string, unknown>>[]) =>
  new Set(rows.flatMap(({ pack }) => (pack === null ? [] : [Number(pack)])));
/** Oldest first. */
const idsOf = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map((row) => Number(row.id)).reverse();
const isSame = (a: readonly number[], b: readonly number[]) => a.length === b.length && a.every((id, i) => id === b[i]);

/** Rows of one file that were written again: facts about them in older chunks are invalid. */
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
