import type { Random } from "./random.ts";

const PLAIN =
  "const let function return await import export class interface type string number boolean agent session tool result error token stream parse tree node child parent root depth cost usage cache read write edit grep glob bash test fixture expected actual diff patch line file path module".split(
    " ",
  );
/** Non-ASCII text is slower to parse. */
const OTHER = ["größe", "naïve", "ключ", "函数", "エラー", "오류", "✓", "→", "…", "🚀", "“quoted”", "straße"];
const POOL = 1 << 21;

/**
 * Text like that of transcripts. Taken from two large texts that are generated once, so that generating is not slower
 * than reading.
 */
export class Texts {
  readonly #random: Random;
  readonly #plain: string;
  readonly #mixed: string;

  constructor(random: Random) {
    this.#random = random;
    this.#plain = this.#write(() => random.of(PLAIN));
    this.#mixed = this.#write(() => (random.chance(0.3) ? random.of(OTHER) : random.of(PLAIN)));
  }

  #write(word: () => string): string {
    const parts: string[] = [];
    for (let length = 0; length < POOL; ) {
      const next = word() + (this.#random.chance(0.1) ? "\n" : " ");
      parts.push(next);
      length += next.length;
    }
    return parts.join("");
  }

  /** About this many characters; one text in seven is not plain ASCII. */
  some(length: number): string {
    const pool = this.#random.chance(0.15) ? this.#mixed : this.#plain;
    let text = "";
    while (text.length < length) {
      const start = this.#random.below(pool.length - 1);
      text += pool.slice(start, start + length - text.length);
    }
    // Removes halves of surrogate pairs at the cuts.
    return text.toWellFormed();
  }
}
