/**
 * Once this many bytes at the beginning are free, writing continues there, so that later pages are used only under
 * load.
 */
const EARLY_BYTES = 4 << 20;
/**
 * V8 copies into shared memory word by word if source and destination are aligned alike, otherwise byte by byte, which
 * takes more than twice the time. Shorter chunks are stored without a gap.
 */
const WORD = 8;
const LONG = 1 << 10;

/**
 * A ring buffer shared by two threads: one writes, the other reads in the same order. Chunks are copied once without
 * allocation. Pages that were never written to take no memory.
 */
export class Ring {
  readonly memory: SharedArrayBuffer;
  readonly #bytes: Uint8Array;
  /** Both only increase; the position in memory is the remainder of a division by its size. */
  #written = 0;
  #read = 0;
  #waiting = 0;

  constructor(size: number) {
    this.memory = new SharedArrayBuffer(size);
    this.#bytes = new Uint8Array(this.memory);
  }

  /** Bytes that were written and not read yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** The position behind the last chunk. */
  get written(): number {
    return this.#written;
  }

  /** Copies a chunk into the ring. Returns its position in memory; null if there is no room. */
  put(chunk: Uint8Array): number | null {
    const isLong = chunk.length >= LONG;
    const free = this.#startFor(isLong ? chunk.length + WORD : chunk.length);
    const start = isLong ? free + ((chunk.byteOffset - free) & (WORD - 1)) : free;
    const end = start + chunk.length;
    const size = this.#bytes.length;
    if (end - this.#read > size) return null;
    this.#bytes.set(chunk, start % size);
    this.#written = end;
    this.#waiting += chunk.length;
    return start % size;
  }

  #startFor(length: number): number {
    const size = this.#bytes.length;
    const next = Math.ceil(this.#written / size) * size;
    if (this.#waiting === 0) {
      this.#read = next;
      return next;
    }
    const [place, read] = [this.#written % size, this.#read % size];
    const isEarly = place >= read && read >= Math.max(EARLY_BYTES, length);
    // A chunk is contiguous.
    return isEarly || place + length > size ? next : this.#written;
  }

  /** Frees the bytes that were read, up to this value of `written`. */
  release(bytes: number, position: number): void {
    this.#read = Math.max(this.#read, position);
    this.#waiting -= bytes;
  }

  /** The reader is gone: discards what was not read. */
  clear(): void {
    this.#read = this.#written;
    this.#waiting = 0;
  }
}
