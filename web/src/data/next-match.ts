/** Index of the next matching item in a direction, wrapping around the ends; null if none matches. */
export function nextMatch<T>(
  items: readonly T[],
  from: number,
  direction: 1 | -1,
  matches: (item: T) => boolean,
): number | null {
  for (let n = 1; n <= items.length; n += 1) {
    const index = (from + direction * n + items.length * 2) % items.length;
    const item = items[index];
    if (item !== undefined && matches(item)) return index;
  }
  return null;
}
