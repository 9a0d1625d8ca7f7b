/** Bits of a hash above the lower 32. */
const HIGH_BITS = 21;
const LOW = 2 ** 32;
/** Hashes per bucket, on average. */
const PER_BUCKET = 8;

/**
 * Sorted 53-bit hashes, each with a 16-bit value, in eight to ten bytes: the first bits of a hash are those of its
 * bucket and not stored.
 */
export class SortedHashes {
  readonly length: number;
  readonly values: Uint16Array;
  /** Bits of the bucket's number. */
  readonly #bits: number;
  /** Where each bucket begins, and the end of the last one. */
  readonly #starts: Uint32Array;
  readonly #middle: Uint8Array | Uint16Array | Uint32Array;
  readonly #low: Uint32Array;

  private constructor(length: number) {
    this.length = length;
    this.values = new Uint16Array(length);
    this.#bits = Math.min(HIGH_BITS, Math.max(0, Math.ceil(Math.log2(length / PER_BUCKET))));
    this.#starts = new Uint32Array(2 ** this.#bits + 1);
    const left = HIGH_BITS - this.#bits;
    this.#middle = new (left <= 8 ? Uint8Array : left <= 16 ? Uint16Array : Uint32Array)(length);
    this.#low = new Uint32Array(length);
  }

  /** `hashes` are sorted and different. */
  static of(hashes: Float64Array, flagsOf: (hashed: number) => number): SortedHashes {
    const list = new SortedHashes(hashes.length);
    for (let at = 0; at < hashes.length; at += 1) {
      const hashed = hashes[at] ?? 0;
      list.#put(at, Math.floor(hashed / LOW), hashed >>> 0, flagsOf(hashed));
    }
    list.#close();
    return list;
  }

  /** No hash is in both. */
  static merged(a: SortedHashes, b: SortedHashes): SortedHashes {
    const list = new SortedHashes(a.length + b.length);
    let [i, j, bucketOfA, bucketOfB] = [0, 0, 0, 0];
    // -1: not read yet.
    let [highOfA, highOfB] = [-1, -1];
    // Plain variables: all names of a long transcript pass here several times.
    for (let at = 0; at < list.length; at += 1) {
      if (highOfA < 0 && i < a.length) {
        bucketOfA = a.#bucketOf(i, bucketOfA);
        highOfA = a.#highAt(i, bucketOfA);
      }
      if (highOfB < 0 && j < b.length) {
        bucketOfB = b.#bucketOf(j, bucketOfB);
        highOfB = b.#highAt(j, bucketOfB);
      }
      const [lowOfA, lowOfB] = [a.#low[i] ?? 0, b.#low[j] ?? 0];
      if (j >= b.length || (i < a.length && (highOfA < highOfB || (highOfA === highOfB && lowOfA < lowOfB)))) {
        list.#put(at, highOfA, lowOfA, a.values[i] ?? 0);
        i += 1;
        highOfA = -1;
      } else {
        list.#put(at, highOfB, lowOfB, b.values[j] ?? 0);
        j += 1;
        highOfB = -1;
      }
    }
    list.#close();
    return list;
  }

  get bytes(): number {
    return this.values.byteLength + this.#starts.byteLength + this.#middle.byteLength + this.#low.byteLength;
  }

  /** The position of the hash; -1 if it is not in the list. */
  find(hashed: number): number {
    const high = Math.floor(hashed / LOW);
    const low = hashed >>> 0;
    const left = HIGH_BITS - this.#bits;
    const bucket = high >>> left;
    const middle = high & ((1 << left) - 1);
    const end = this.#starts[bucket + 1] ?? 0;
    for (let at = this.#starts[bucket] ?? 0; at < end; at += 1)
      if (this.#low[at] === low && this.#middle[at] === middle) return at;
    return -1;
  }

  /** Positions and hashes, in order. */
  *entries(): Generator<readonly [number, number]> {
    for (let [at, bucket] = [0, 0]; at < this.length; at += 1) {
      bucket = this.#bucketOf(at, bucket);
      yield [at, this.#highAt(at, bucket) * LOW + (this.#low[at] ?? 0)];
    }
  }

  /** `from`: the bucket of an earlier position. */
  #bucketOf(at: number, from: number): number {
    let bucket = from;
    while ((this.#starts[bucket + 1] ?? Number.POSITIVE_INFINITY) <= at) bucket += 1;
    return bucket;
  }

  #highAt(at: number, bucket: number): number {
    return (bucket << (HIGH_BITS - this.#bits)) | (this.#middle[at] ?? 0);
  }

  #put(at: number, high: number, low: number, value: number) {
    const left = HIGH_BITS - this.#bits;
    this.#middle[at] = high & ((1 << left) - 1);
    this.#low[at] = low;
    this.values[at] = value;
    // The number of hashes in each bucket, until `#close` adds them up.
    const next = (high >>> left) + 1;
    this.#starts[next] = (this.#starts[next] ?? 0) + 1;
  }

  #close() {
    for (let i = 1; i < this.#starts.length; i += 1)
      this.#starts[i] = (this.#starts[i] ?? 0) + (this.#starts[i - 1] ?? 0);
  }
}
