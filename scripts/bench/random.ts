/** Chance that is the same on every machine: equal seeds give equal numbers. */
export interface Random {
  /** From 0, below 1. */
  next(): number;
  /** A whole number from 0, below `n`. */
  below(n: number): number;
  /** One of the things. */
  of<T>(things: readonly T[]): T;
  /** True that often. */
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
    of: (things) => {
      const thing = things[below(things.length)];
      if (thing === undefined) throw new Error("nothing to choose from");
      return thing;
    },
    chance: (share) => next() < share,
  };
}
