import { asObject, parseJson } from "./json.ts";
import type { Provider } from "./provider.ts";

/** A product announces itself in its first lines; what comes before them is a wrapper's or the shell's. */
export const FIRST_LINES = 1_000;

/** Finds out which product printed some lines, by the lines alone. */
export class PrintedBy {
  #candidates: readonly Provider[];
  #lines = 0;

  /** Where the lines fit several products, the first of them counts. */
  constructor(providers: readonly Provider[]) {
    this.#candidates = providers.filter(({ printed }) => printed !== undefined);
  }

  /** Nothing that may still come can decide it. */
  get isHopeless(): boolean {
    return this.#lines >= FIRST_LINES || this.#candidates.length === 0;
  }

  /** The product that printed this line, null as long as nothing tells. */
  hear(line: string): Provider | null {
    if (this.isHopeless) return null;
    this.#lines += 1;
    const text = line.replace(/^\uFEFF/, "").trim();
    const said = text.startsWith("{") ? asObject(parseJson(text)?.value) : null;
    if (said === null) return null;
    const words = this.#candidates.map((provider) => ({ provider, is: provider.printed?.recognise(said) ?? null }));
    this.#candidates = words.filter(({ is }) => is !== false).map(({ provider }) => provider);
    return words.find(({ is }) => is === true)?.provider ?? null;
  }
}
