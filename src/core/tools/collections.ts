/** The value of a key, which is made and stored first if it is missing. */
export function cached<K, V>(cache: Pick<Map<K, V>, "get" | "set">, key: K, make: () => V): V {
  const known = cache.get(key);
  if (known !== undefined) return known;
  const made = make();
  cache.set(key, made);
  return made;
}

/** Appends to the list of a key. */
export const addTo = <K, V>(lists: Map<K, V[]>, key: K, value: V) => cached(lists, key, () => []).push(value);

/** The first position of a sorted list that is not before the target. */
export function lowerBound<T>(sorted: readonly T[], isBefore: (one: T) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(sorted[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low;
}
