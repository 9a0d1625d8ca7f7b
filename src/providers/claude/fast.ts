/**
 * Price factor of fast mode relative to the standard price, including caches, for any request size. Public price lists
 * do not contain it.
 * Source: "Pricing" on https://platform.claude.com/docs/en/build-with-claude/fast-mode (2026-11), and its earlier
 * version for Opus 4.6 and 4.7.
 */
const FACTORS: readonly (readonly [RegExp, number])[] = [
  [/^claude-opus-4-[67]\b/, 6],
  [/^claude-opus-4-8\b/, 2],
  [/^claude-opus-5\b/, 2],
];

export const fastFactor = (model: string): number | null => FACTORS.find(([name]) => name.test(model))?.[1] ?? null;
