/** Rows per block: full blocks are never copied, and at most one block is partly unused. */
const BLOCK = 32;

/** Rows of a fixed number of numbers, for hundreds of thousands of rows. */
export class NumberRows {
  readonly #width: number;
  readonly #blocks: Float64Array[] = [];
  #dropped = 0;
  #length = 0;

  constructor(width: number) {
    this.#width = width;
  }

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#blocks.reduce((sum, block) => sum + block.byteLength, 0);
  }

  push(row: readonly number[]): void {
    const at = this.#width * (this.#length % BLOCK);
    if (at === 0) this.#blocks.push(new Float64Array(this.#width));
    let block = this.#blocks.at(-1) as Float64Array;
    if (at === block.length) {
      const larger = new Float64Array(2 * block.length);
      larger.set(block);
      block = larger;
      this.#blocks[this.#blocks.length - 1] = block;
    }
    block.set(row, at);
    this.#length += 1;
  }

  /** NaN if the row was dropped. */
  get(row: number, column: number): number {
    return this.#blocks[Math.floor(row / BLOCK) - this.#dropped]?.[this.#width * (row % BLOCK) + column] ?? Number.NaN;
  }

  /** Drops whole blocks of rows before this one. Returns the first row that is left. */
  dropBefore(row: number): number {
    const count = blocksBefore(Math.min(row, this.#length)) - this.#dropped;
    if (count > 0) this.#dropped += this.#blocks.splice(0, count).length;
    return BLOCK * this.#dropped;
  }
}

/** Hundreds of thousands of short texts without an object for each. Sequential reading is cheap. */
export class TextColumn {
  readonly #full: string[] = [];
  #last: string[] = [];
  #dropped = 0;
  #unpacked: { readonly block: number; readonly texts: readonly string[] } | null = null;

  get length(): number {
    return BLOCK * (this.#dropped + this.#full.length) + this.#last.length;
  }

  get bytes(): number {
    return this.#full.reduce((sum, block) => sum + block.length, 0) + 64 * this.#last.length;
  }

  push(text: string): void {
    this.#last.push(text);
    if (this.#last.length < BLOCK) return;
    this.#full.push(JSON.stringify(this.#last));
    this.#last = [];
  }

  /** Undefined if the text was dropped. */
  get(row: number): string | undefined {
    const block = Math.floor(row / BLOCK) - this.#dropped;
    const full = this.#full[block];
    if (full === undefined) return block === this.#full.length ? this.#last[row % BLOCK] : undefined;
    if (this.#unpacked?.block !== block) this.#unpacked = { block, texts: JSON.parse(full) as string[] };
    return this.#unpacked.texts[row % BLOCK];
  }

  /** Drops whole blocks of texts before this row. */
  dropBefore(row: number): void {
    const count = Math.min(blocksBefore(row) - this.#dropped, this.#full.length);
    if (count <= 0) return;
    this.#dropped += this.#full.splice(0, count).length;
    this.#unpacked = null;
  }
}

const blocksBefore = (row: number) => Math.floor(row / BLOCK);
