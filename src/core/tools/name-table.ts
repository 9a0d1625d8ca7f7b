import { hash } from "./hash.ts";

const FIRST_SIZE = 32;
/** Maximum load factor. */
const FULL = 0.7;

/**
 * A set of flags for each of very many names. A name is stored as a 53-bit hash, which takes ten bytes instead of a
 * string and a map entry: the probability of a collision among a million names is 1 in 10,000.
 */
export class NameTable {
  #hashes = new Float64Array(FIRST_SIZE);
  #marks = new Uint16Array(FIRST_SIZE);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#hashes.byteLength + this.#marks.byteLength;
  }

  /** Sets a flag. Returns false if it was already set. */
  add(name: string, mark: number): boolean {
    if (this.#count >= FULL * this.#hashes.length) this.#grow();
    return this.#put(hashOf(name), mark);
  }

  has(name: string, mark: number): boolean {
    return this.hasHash(hashOf(name), mark);
  }

  hasHash(hashed: number, mark: number): boolean {
    const at = placeIn(this.#hashes, hashed);
    return this.#hashes[at] === hashed && ((this.#marks[at] ?? 0) & mark) !== 0;
  }

  /** The hashes of all names with this flag. */
  *hashes(mark: number): Generator<number> {
    for (let at = 0; at < this.#hashes.length; at += 1)
      if (((this.#marks[at] ?? 0) & mark) !== 0) yield this.#hashes[at] ?? 0;
  }

  #put(hashed: number, mark: number): boolean {
    const at = placeIn(this.#hashes, hashed);
    const known = this.#marks[at] ?? 0;
    if (this.#hashes[at] !== hashed) this.#count += 1;
    this.#hashes[at] = hashed;
    this.#marks[at] = known | mark;
    return (known & mark) !== mark;
  }

  #grow() {
    const [hashes, marks] = [this.#hashes, this.#marks];
    this.#hashes = new Float64Array(2 * hashes.length);
    this.#marks = new Uint16Array(2 * marks.length);
    this.#count = 0;
    for (let at = 0; at < hashes.length; at += 1) if (hashes[at] !== EMPTY) this.#put(hashes[at] ?? 0, marks[at] ?? 0);
  }
}

const EMPTY = 0;
export const hashOf = (name: string) => hash(name) || 1;

/** The slot of the hash, occupied or free. */
function placeIn(hashes: Float64Array, hashed: number): number {
  const last = hashes.length - 1;
  let at = (hashed >>> 0) & last;
  while (hashes[at] !== EMPTY && hashes[at] !== hashed) at = (at + 1) & last;
  return at;
}

/** The holder of each of very many names, by hash. */
export class Holders {
  readonly #hashes: Float64Array;
  readonly #holders: Uint32Array;

  /** `count`: maximum number of names. */
  constructor(count: number) {
    const size = 2 ** Math.ceil(Math.log2(count / FULL + 1));
    this.#hashes = new Float64Array(size);
    this.#holders = new Uint32Array(size);
  }

  /** Returns the previous holder of the name, or this one. */
  hold(hashed: number, holder: number): number {
    const at = placeIn(this.#hashes, hashed);
    if (this.#hashes[at] === hashed) return this.#holders[at] ?? holder;
    this.#hashes[at] = hashed;
    this.#holders[at] = holder;
    return holder;
  }
}
