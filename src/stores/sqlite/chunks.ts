import { FactColumns } from "../../core/facts/fact-columns.ts";
import { placeName, placeOf } from "../../core/facts/ids.ts";
import type { Observation } from "../../core/facts/observation.ts";
import { FACT_BYTES, FileFacts } from "../../core/link/file-facts.ts";
import type { Facts, FileBatch } from "../../core/ports/store.ts";
import { checkCount } from "../fault.ts";
import { boundHeap } from "../heap.ts";
import { LruCache } from "./lru-cache.ts";
import { factsOf, isPlain, packJson, packShortLived, savedFacts } from "./packing.ts";
import type { Packed, Packs } from "./packs.ts";
import type { Statements } from "./statements.ts";

/**
 * A file that grows line by line gets one chunk per line, which is not compressed. If there are many of these at its
 * end, they are merged and compressed, and later the small ones among the results. Large ones are not touched.
 */
const MANY_PLAIN = 8;
const MANY_CHUNKS = 24;
const SMALL_CHUNK = 4 << 10;
/** Number of files whose chunks are listed in memory. */
const LISTED_FILES = 1_024;
/** Size of the cache for facts that were just read: they are linked next, and rarely needed afterwards. */
const FEW_BYTES = 8 << 20;

/** The facts of a file, some of them folded. */
type FactsOfFile = Pick<Facts, "observations" | "folds">;

/**
 * The packed facts of files. A chunk never changes. If rows are replaced, a later chunk names them.
 */
export class Chunks {
  readonly #sql: Statements;
  readonly #packs: Packs;
  readonly #unpacked = new LruCache<number, readonly Observation[]>((facts) => FACT_BYTES * facts.length, FEW_BYTES);
  readonly #folded = new LruCache<number, Folded>(({ facts }) => facts.bytes, FEW_BYTES);
  readonly #listed = new LruCache<number, ChunkList>(() => 1, LISTED_FILES);

  constructor(sql: Statements, packs: Packs) {
    this.#sql = sql;
    this.#packs = packs;
  }

  /** Sizes of the caches in bytes. Most is for folded facts, which are requested repeatedly. */
  set cacheBytes(bytes: number) {
    this.#unpacked.limit = bytes / 16;
    this.#folded.limit = (15 * bytes) / 16;
    if (bytes === 0) this.forget();
  }

  /** Bytes in the caches. */
  get cachedBytes(): number {
    return this.#unpacked.size + this.#folded.size;
  }

  forget(): void {
    this.#unpacked.clear();
    this.#folded.clear();
    this.#listed.clear();
  }

  /** Another process may have added or merged chunks. */
  dropLists(): void {
    this.#listed.clear();
  }

  /** Stores the first facts of a file, with their position in a pack. */
  addPacked(file: number, { facts, folded }: Pick<FileBatch, "facts" | "folded">, { pack: id, places }: Packed): void {
    const chunk = Number(
      this.#sql("INSERT INTO chunk (file, facts, pack) VALUES (?, ?, ?)").run(file, places[0] ?? null, id)
        .lastInsertRowid,
    );
    const place = places[0] ?? new Uint8Array();
    this.#listed.set(file, { chunks: [{ id: chunk, pack: id, replaces: null, size: place.length, isPlain: false }] });
    this.#saveCount(file, 1);
    if (folded == null) this.#unpacked.set(chunk, [...facts]);
    else this.#setFolded(file, facts.path, folded, [chunk]);
  }

  /** Keeps facts that were folded while they were read. */
  #setFolded(file: number, path: string, facts: FileFacts, chunks: readonly number[]) {
    facts.readWith(() => this.#all(file, path));
    this.#folded.set(file, { facts, chunks });
  }

  add(file: number, batch: Pick<FileBatch, "facts" | "folded" | "replaces">): void {
    const { facts, folded, replaces = [] } = batch;
    if (facts.length === 0 && replaces.length === 0) return;
    const { path } = facts;
    const list = this.#list(file);
    const { chunks } = list;
    const countAtEnd = (isWanted: (chunk: Chunk) => boolean) =>
      chunks.length - 1 - chunks.findLastIndex((one) => !isWanted(one));
    const small = countAtEnd(({ size }) => size < SMALL_CHUNK);
    const plain = countAtEnd(({ isPlain }) => isPlain);
    const merged = small >= MANY_CHUNKS ? small : plain >= MANY_PLAIN ? plain : 0;
    const before = chunks.map(({ id }) => id);
    const replaced = chunks.splice(chunks.length - merged);
    const gone = new ReplacedRows(path, replaces);
    const kept = this.#withoutReplaced(replaced.toReversed(), path, gone);
    for (const { id } of replaced) {
      this.#sql("DELETE FROM chunk WHERE id = ?").run(id);
      this.#unpacked.delete(id);
    }
    this.#packs.sweep(packsOf(replaced));
    const all = merged === 0 ? facts : FactColumns.of(path, [...kept, ...facts]);
    const packed = (merged === 0 ? packShortLived : packJson)(savedFacts(all));
    const chunk = this.#insert(file, packed, chunks.length === 0 ? [] : gone.rows);
    // Cached, because new facts are linked next.
    if (folded == null) this.#unpacked.set(chunk.id, [...all]);
    chunks.push(chunk);
    this.#listed.set(file, list);
    this.#saveCount(file, chunks.length);
    this.#grow(
      file,
      before,
      chunks.map(({ id }) => id),
      batch,
    );
  }

  /** The chunks of a file, oldest first. The list is kept up to date, so that an append does not read it. */
  #list(file: number): ChunkList {
    const known = this.#listed.get(file);
    if (known !== undefined) return known;
    const rows = this.#sql(
      "SELECT id, pack, replaces, length(facts) AS size, substr(facts, 1, 1) AS head FROM chunk WHERE file = ? ORDER BY id",
    ).all(file);
    const written = this.#sql("SELECT chunks FROM file WHERE id = ?").get(file)?.chunks;
    checkCount("chunks of a file", rows.length, Number(written ?? 0));
    const list = {
      chunks: rows.map(({ id, pack, replaces, size, head }) => ({
        id: Number(id),
        pack: pack === null ? null : Number(pack),
        replaces: replaces as string | null,
        size: Number(size),
        isPlain: isPlain(head as Uint8Array),
      })),
    };
    this.#listed.set(file, list);
    return list;
  }

  #insert(file: number, packed: Uint8Array, replaced: readonly string[]): Chunk {
    const replaces = replaced.length === 0 ? null : JSON.stringify(replaced);
    const id = Number(
      this.#sql("INSERT INTO chunk (file, facts, replaces) VALUES (?, ?, ?)").run(file, packed, replaces)
        .lastInsertRowid,
    );
    return { id, pack: null, replaces, size: packed.length, isPlain: isPlain(packed) };
  }

  retract(file: number): void {
    const { chunks } = this.#list(file);
    this.#sql("DELETE FROM chunk WHERE file = ?").run(file);
    this.#packs.sweep(packsOf(chunks));
    this.#listed.delete(file);
    this.#saveCount(file, 0);
  }

  #saveCount(file: number, chunks: number): void {
    this.#sql("UPDATE file SET chunks = ? WHERE id = ?").run(chunks, file);
  }

  /** If the file is cached, folds the new facts in, so that nothing is read again. */
  #grow(
    file: number,
    before: readonly number[],
    chunks: readonly number[],
    { facts, folded, replaces = [] }: Pick<FileBatch, "facts" | "folded" | "replaces">,
  ) {
    const known = this.#folded.get(file);
    this.#folded.delete(file);
    if (folded != null) this.#setFolded(file, facts.path, folded, chunks);
    if (folded !== undefined || known === undefined || replaces.length > 0 || !isSame(known.chunks, before)) return;
    known.facts.add(facts);
    this.#folded.set(file, { ...known, chunks });
  }

  /** The facts of a file without the replaced ones. */
  of(file: number, path: string): FactsOfFile {
    const list = this.#list(file).chunks;
    // Folded facts cannot be retracted.
    if (list.some(({ replaces }) => replaces !== null))
      return { observations: this.#withoutReplaced(list.toReversed(), path, new ReplacedRows(path, [])), folds: [] };
    const chunks = list.map(({ id }) => id);
    const known = this.#folded.get(file);
    const isPrefix = known !== undefined && isSame(known.chunks, chunks.slice(0, known.chunks.length));
    const { facts, chunks: read } = isPrefix
      ? known
      : { facts: new FileFacts(path, () => this.#all(file, path)), chunks: [] };
    const fresh = chunks.slice(read.length);
    for (const id of fresh) {
      facts.add(this.#unpacked.get(id) ?? this.#read(id, path));
      if (fresh.length > MANY_CHUNKS) boundHeap();
    }
    if (fresh.length > 0) this.#folded.set(file, { facts, chunks });
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

  /** The facts of these chunks, newest first, without those that a later chunk or `gone` replaces. */
  #withoutReplaced(chunks: readonly Chunk[], path: string, gone: ReplacedRows): Observation[] {
    const facts: Observation[] = [];
    for (const { id, replaces } of chunks) {
      for (const o of this.#chunk(id, path)) if (!gone.has(o)) facts.push(o);
      if (replaces !== null) gone.add(JSON.parse(replaces) as string[]);
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

/** A chunk without its facts. */
interface Chunk {
  readonly id: number;
  readonly pack: number | null;
  /** JSON: the rows whose facts in older chunks are replaced. */
  readonly replaces: string | null;
  readonly size: number;
  readonly isPlain: boolean;
}

/** Oldest first. */
interface ChunkList {
  readonly chunks: Chunk[];
}

const packsOf = (chunks: readonly Chunk[]) => new Set(chunks.flatMap(({ pack }) => (pack === null ? [] : [pack])));
const isSame = (a: readonly number[], b: readonly number[]) => a.length === b.length && a.every((id, i) => id === b[i]);

/** Rows of one file that were written again: facts about them in older chunks are invalid. */
class ReplacedRows {
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
