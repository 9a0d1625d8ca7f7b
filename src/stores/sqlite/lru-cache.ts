/** A least-recently-used cache with a limit in bytes. The entry that was set last stays, even if it is larger. */
export class LruCache<K, V> {
  readonly #bytesOf: (value: V) => number;
  readonly #entries = new Map<K, { readonly value: V; readonly bytes: number }>();
  #limit: number;
  #size = 0;

  constructor(bytesOf: (value: V) => number, limit: number) {
    this.#bytesOf = bytesOf;
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  set limit(bytes: number) {
    this.#limit = bytes;
    this.#shrink();
  }

  get(key: K): V | undefined {
    const known = this.#entries.get(key);
    if (known === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, known);
    return known.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    const bytes = this.#bytesOf(value);
    this.#entries.set(key, { value, bytes });
    this.#size += bytes;
    this.#shrink();
  }

  delete(key: K): void {
    this.#size -= this.#entries.get(key)?.bytes ?? 0;
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#size = 0;
  }

  #shrink() {
    for (const key of this.#entries.keys()) {
      if (this.#size <= this.#limit || this.#entries.size === 1) return;
      this.delete(key);
    }
  }
}
