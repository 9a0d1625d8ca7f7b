import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Number of entries that are compressed together. */
const BLOCK = 32;

/**
 * A list of JSON values that grows. The latest are kept as they are; older ones are compressed in blocks, which take a
 * tenth of the memory. Reading in order unpacks each block once.
 */
export class PackedList<T> {
  readonly #packed: Uint8Array[] = [];
  readonly #latest: T[] = [];
  #unpacked: { readonly block: number; readonly values: readonly T[] } | null = null;

  get length(): number {
    return BLOCK * this.#packed.length + this.#latest.length;
  }

  /** Memory of the packed values. */
  get packedBytes(): number {
    return this.#packed.reduce((sum, block) => sum + block.length, 0);
  }

  push(value: T): void {
    if (this.#latest.push(value) < 2 * BLOCK) return;
    const packed = deflateRawSync(JSON.stringify(this.#latest.splice(0, BLOCK)), { level: 3 });
    // Copied, because the compressor may return a view of a larger buffer, which would stay in memory.
    this.#packed.push(new Uint8Array(packed));
  }

  get(index: number): T | undefined {
    const block = Math.floor(index / BLOCK);
    const packed = this.#packed[block];
    if (packed === undefined) return this.#latest[index - BLOCK * this.#packed.length];
    if (this.#unpacked?.block !== block)
      this.#unpacked = { block, values: JSON.parse(inflateRawSync(packed).toString("utf8")) as T[] };
    return this.#unpacked.values[index % BLOCK];
  }

  *values(from = 0, to = this.length): Generator<T> {
    for (let i = from; i < Math.min(to, this.length); i += 1) yield this.get(i) as T;
  }
}
