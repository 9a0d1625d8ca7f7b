import type { Provider } from "../../core/ports/provider.ts";
import { asObject, parseJson } from "../../core/tools/json.ts";

/** A product identifies itself in its first lines; earlier lines are printed by a wrapper or the shell. */
const FIRST_LINES = 1_000;

/** Recognises the product that printed some lines. */
export class PrintedBy {
  #candidates: readonly Provider[];
  #lines = 0;

  /** If the lines match several products, the first one counts. */
  constructor(providers: readonly Provider[]) {
    this.#candidates = providers.filter(({ printed }) => printed !== undefined);
  }

  /** No further line can decide it. */
  get isHopeless(): boolean {
    return this.#lines >= FIRST_LINES || this.#candidates.length === 0;
  }

  /** The product that printed this line; null while unknown. */
  read(line: string): Provider | null {
    if (this.isHopeless) return null;
    this.#lines += 1;
    const text = line.replace(/^\uFEFF/, "").trim();
    const json = text.startsWith("{") ? asObject(parseJson(text)?.value) : null;
    if (json === null) return null;
    const verdicts = this.#candidates.map((provider) => ({ provider, is: provider.printed?.recognise(json) ?? null }));
    this.#candidates = verdicts.filter(({ is }) => is !== false).map(({ provider }) => provider);
    return verdicts.find(({ is }) => is === true)?.provider ?? null;
  }
}
