import { createResource } from "solid-js";
import type { ApiError } from "../data/api.ts";

/**
 * What the server has for a key, such as a URI. Refetching keeps the last value meanwhile; another key does not, because
 * the value belongs to the previous one.
 */
export function createKeyedResource<T>(key: () => string | null, fetch: (key: string) => Promise<T>) {
  const [found, { refetch }] = createResource(key, async (of) => ({ of, value: await fetch(of) }));
  const error = () => found.error as ApiError | undefined;
  return {
    error,
    value: () => (error() === undefined && found.latest?.of === key() ? found.latest?.value : undefined),
    refetch: () => void refetch(),
  };
}
