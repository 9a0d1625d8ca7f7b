/** A deterministic random number generator: equal seeds give equal numbers on every machine. */
export interface Random {
  /** At least 0, below 1. */
  next(): number;
  /** An integer of at least 0, below `n`. */
  below(n: number): number;
  /** One of the items. */
  of<T>(items: readonly T[]): T;
  /** True with this probability. */
  chance(share: number): boolean;
}

export function seeded(seed: number): Random {
  let state = seed >>> 0;
  // Mulberry32: small, fast, and good enough for sizes and choices.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (n: number) => Math.floor(next() * n);
  return {
    next,
    below,
    of: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("the list is empty");
      return item;
    },
    chance: (share) => next() < share,
  };
}
