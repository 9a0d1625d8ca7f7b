import type { Provider } from "../../core/ports/provider.ts";
import { asObject, parseJson } from "../../core/tools/json.ts";

/** Maximum number of lines before those that identify the product, such as output of a wrapper or the shell. */
const FIRST_LINES = 1_000;

/** Recognises the product that printed some lines. */
export class PrintedBy {
  #candidates: readonly Provider[];
  #lines = 0;

  /** If the lines match several products, the first one counts. */
  constructor(providers: readonly Provider[]) {
    this.#candidates = providers.filter(({ printed }) => printed !== undefined);
  }

  /** No further line can identify the product. */
  get isUndecidable(): boolean {
    return this.#lines >= FIRST_LINES || this.#candidates.length === 0;
  }

  /** The product that printed this line; null while unknown. */
  read(line: string): Provider | null {
    if (this.isUndecidable) return null;
    this.#lines += 1;
    const text = line.replace(/^\uFEFF/, "").trim();
    const json = text.startsWith("{") ? asObject(parseJson(text)?.value) : null;
    if (json === null) return null;
    const verdicts = this.#candidates.map((provider) => ({ provider, is: provider.printed?.recognise(json) ?? null }));
    this.#candidates = verdicts.filter(({ is }) => is !== false).map(({ provider }) => provider);
    return verdicts.find(({ is }) => is === true)?.provider ?? null;
  }
}
