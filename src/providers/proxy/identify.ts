import type { Provider } from "../../core/provider.ts";
import type { AskedRow, Caller, Dialect } from "../../core/traffic.ts";

export interface Identified {
  readonly name: string;
  readonly dialect: Dialect;
  readonly caller: Caller;
}

/** The product that made a request. Null where none says that it did, and where several do: then only what is said tells whose it is. */
export function identified(dialects: Iterable<readonly [name: string, dialect: Dialect]>, asked: AskedRow): Identified | null {
  const found = [...dialects].flatMap(([name, dialect]) => {
    const caller = dialect.identify(asked);
    return caller === null ? [] : [{ name, dialect, caller }];
  });
  return found.length === 1 ? (found[0] ?? null) : null;
}

/** What products say of their requests, by the name of each. */
export const dialectsOf = (products: readonly Provider[]): ReadonlyMap<string, Dialect> =>
  new Map(products.flatMap(({ name, wire }) => (wire === undefined ? [] : [[name, wire] as const])));
