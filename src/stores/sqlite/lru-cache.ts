/** What was used last, up to a number of bytes; what was set last stays, however large it is. */
export class Bounded<K, V> {
  readonly #bytesOf: (value: V) => number;
  readonly #kept = new Map<K, { readonly value: V; readonly bytes: number }>();
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
    const known = this.#kept.get(key);
    if (known === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, known);
    return known.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    const bytes = this.#bytesOf(value);
    this.#kept.set(key, { value, bytes });
    this.#size += bytes;
    this.#shrink();
  }

  delete(key: K): void {
    this.#size -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }

  clear(): void {
    this.#kept.clear();
    this.#size = 0;
  }

  #shrink() {
    for (const key of this.#kept.keys()) {
      if (this.#size <= this.#limit || this.#kept.size === 1) return;
      this.delete(key);
    }
  }
}
