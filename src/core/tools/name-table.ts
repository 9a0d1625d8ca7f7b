import { hash } from "./hash.ts";
import { SortedHashes } from "./sorted-hashes.ts";

const FIRST_SIZE = 16;
/** Number of names in the hash table before they are moved to a sorted list: this many, or a share of all names. */
const RECENT = 2_048;
const RECENT_SHARE = 1 / 16;
/** Maximum load factor. */
const FULL = 0.7;

/**
 * A set of flags for each of very many names. A name is stored as a 53-bit hash: the probability of a collision among a
 * million names is 1 in 10,000. Recent names are in a hash table, all others in a few sorted lists, which take eight
 * to ten bytes per name.
 */
export class NameTable {
  #hashes = new Float64Array(FIRST_SIZE);
  #flags = new Uint16Array(FIRST_SIZE);
  #recent = 0;
  #count = 0;
  /** Each at least twice as long as the next. */
  readonly #sorted: SortedHashes[] = [];

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#sorted.reduce((sum, { bytes }) => sum + bytes, this.#hashes.byteLength + this.#flags.byteLength);
  }

  /** Sets a flag. Returns false if it was already set. */
  add(name: string, flag: number): boolean {
    return this.addHash(hashOf(name), flag);
  }

  addHash(hashed: number, flag: number): boolean {
    const at = placeIn(this.#hashes, hashed);
    if (this.#hashes[at] === hashed) return mark(this.#flags, at, flag);
    for (const list of this.#sorted) {
      const found = list.find(hashed);
      if (found >= 0) return mark(list.values, found, flag);
    }
    this.#insert(hashed, flag);
    return true;
  }

  has(name: string, flag: number): boolean {
    return this.hasHash(hashOf(name), flag);
  }

  hasHash(hashed: number, flag: number): boolean {
    return (this.get(hashed) & flag) !== 0;
  }

  /** All flags of a name, or another number below 65,536; 0 if there is none. */
  get(hashed: number): number {
    const at = placeIn(this.#hashes, hashed);
    if (this.#hashes[at] === hashed) return this.#flags[at] ?? 0;
    for (const list of this.#sorted) {
      const found = list.find(hashed);
      if (found >= 0) return list.values[found] ?? 0;
    }
    return 0;
  }

  set(hashed: number, value: number): void {
    const at = placeIn(this.#hashes, hashed);
    if (this.#hashes[at] === hashed) {
      this.#flags[at] = value;
      return;
    }
    for (const list of this.#sorted) {
      const found = list.find(hashed);
      if (found < 0) continue;
      list.values[found] = value;
      return;
    }
    this.#insert(hashed, value);
  }

  /** The hashes of all names with this flag. */
  *hashes(flag: number): Generator<number> {
    for (let at = 0; at < this.#hashes.length; at += 1)
      if (((this.#flags[at] ?? 0) & flag) !== 0) yield this.#hashes[at] ?? 0;
    for (const list of this.#sorted)
      for (const [at, hashed] of list.entries()) if (((list.values[at] ?? 0) & flag) !== 0) yield hashed;
  }

  #insert(hashed: number, value: number) {
    if (this.#recent >= Math.max(RECENT, RECENT_SHARE * this.#count)) this.#sort();
    else if (this.#recent >= FULL * this.#hashes.length) this.#grow();
    const at = placeIn(this.#hashes, hashed);
    this.#hashes[at] = hashed;
    this.#flags[at] = value;
    this.#recent += 1;
    this.#count += 1;
  }

  #grow() {
    const [hashes, flags] = [this.#hashes, this.#flags];
    this.#hashes = new Float64Array(2 * hashes.length);
    this.#flags = new Uint16Array(2 * flags.length);
    for (let from = 0; from < hashes.length; from += 1) {
      const hashed = hashes[from] ?? EMPTY;
      if (hashed === EMPTY) continue;
      const at = placeIn(this.#hashes, hashed);
      this.#hashes[at] = hashed;
      this.#flags[at] = flags[from] ?? 0;
    }
  }

  /** Moves the recent names to a sorted list. Lists of similar length are merged, so that there are few. */
  #sort() {
    const hashes = this.#hashes.filter((hashed) => hashed !== EMPTY).sort();
    let list = SortedHashes.of(hashes, (hashed) => this.#flags[placeIn(this.#hashes, hashed)] ?? 0);
    for (
      let last = this.#sorted.at(-1);
      last !== undefined && last.length < 2 * list.length;
      last = this.#sorted.at(-1)
    ) {
      list = SortedHashes.merged(last, list);
      this.#sorted.pop();
    }
    this.#sorted.push(list);
    this.#hashes.fill(EMPTY);
    this.#flags.fill(0);
    this.#recent = 0;
  }
}

/** Sets a flag. Returns false if it was already set. */
function mark(flags: Uint16Array, at: number, flag: number): boolean {
  const known = flags[at] ?? 0;
  flags[at] = known | flag;
  return (known & flag) !== flag;
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
