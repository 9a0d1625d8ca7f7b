import type { RequestRow } from "../../core/facts/traffic.ts";
import type { Caller, Dialect } from "../../core/ports/dialect.ts";
import type { Provider } from "../../core/ports/provider.ts";

export interface Identified {
  readonly name: string;
  readonly dialect: Dialect;
  readonly caller: Caller;
}

/** The product that made a request. Null if none or several claim it; content then decides. */
export function identified(
  dialects: Iterable<readonly [name: string, dialect: Dialect]>,
  asked: RequestRow,
): Identified | null {
  const found = [...dialects].flatMap(([name, dialect]) => {
    const caller = dialect.identify(asked);
    return caller === null ? [] : [{ name, dialect, caller }];
  });
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** The dialects of products, by name. */
export const dialectsOf = (products: readonly Provider[]): ReadonlyMap<string, Dialect> =>
  new Map(products.flatMap(({ name, wire }) => (wire === undefined ? [] : [[name, wire] as const])));
