/**
 * Once so much was read from the beginning on, writing continues there: pages further on are used only while much is
 * waiting.
 */
const EARLY_BYTES = 4 << 20;

/**
 * Memory that two threads share, written by one and read by the other in the same order: chunks are copied once, and
 * nothing is allocated for them. Pages that were never written to take no memory.
 */
export class Ring {
  readonly memory: SharedArrayBuffer;
  readonly #bytes: Uint8Array;
  /** Both count on from the beginning; the place in memory is the rest of the division by its size. */
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

  /** Copies a chunk into the ring and says where in memory it begins; null where there is no room. */
  put(chunk: Uint8Array): number | null {
    const start = this.#startFor(chunk.length);
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
    // A chunk lies in one piece.
    return isEarly || place + length > size ? next : this.#written;
  }

  /** So many bytes were read, up to this value of `written`. */
  release(bytes: number, position: number): void {
    this.#read = Math.max(this.#read, position);
    this.#waiting -= bytes;
  }

  /** Nobody reads any more: what is waiting is lost. */
  clear(): void {
    this.#read = this.#written;
    this.#waiting = 0;
  }
}
