import { seeded } from "./random.ts";

/**
 * Sizes of real transcripts: the profile that ccusage publishes of 3,142 files with 1,239 MiB
 * (generate-large-fixture.nu). Half of all files have at most 105 KB; one has 87 MB.
 */
const QUANTILES: readonly (readonly [share: number, bytes: number])[] = [
  [0, 2_000],
  [0.5, 105_000],
  [0.75, 234_000],
  [0.9, 654_000],
  [0.95, 1_500_000],
  [0.99, 5_400_000],
  // Not published; chosen so that the mean matches the published total.
  [0.999, 16_000_000],
  [1, 87_000_000],
];

/**
 * The file size at a quantile, interpolated exponentially between the known ones.
 */
export function sizeAt(share: number): number {
  const above = QUANTILES.findIndex(([known]) => known >= share);
  const [[low, from], [high, to]] = [QUANTILES[Math.max(0, above - 1)], QUANTILES[Math.max(0, above)]] as [
    [number, number],
    [number, number],
  ];
  return high === low ? to : from * (to / from) ** ((share - low) / (high - low));
}

const MEAN =
  Array.from({ length: 10_000 }, (_, i) => sizeAt((i + 0.5) / 10_000)).reduce((sum, size) => sum + size) / 10_000;

export const usualFileCount = (bytes: number) => Math.max(1, Math.round(bytes / MEAN));

/** `count` sizes that follow the profile and add up to `bytes`: one per quantile range, shuffled. */
export function fileSizes(bytes: number, count: number, seed: number): number[] {
  const random = seeded(seed);
  const sizes = Array.from({ length: count }, (_, i) => sizeAt((i + random.next()) / count));
  const sum = sizes.reduce((total, size) => total + size);
  const scaled = sizes.map((size) => Math.max(1, Math.round((size * bytes) / sum)));
  return scaled
    .map((size) => ({ size, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ size }) => size);
}
