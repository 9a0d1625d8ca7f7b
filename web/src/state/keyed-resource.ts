import { createResource } from "solid-js";
import type { ApiError } from "../data/api.ts";

/**
 * A response of the server for a key, such as a URI. A refetch keeps the last value until the new one arrives; another
 * key does not, because the value belongs to the previous key.
 */
export function createKeyedResource<T>(key: () => string | null, fetch: (key: string) => Promise<T>) {
  const [resource, { refetch }] = createResource(key, async (of) => ({ of, value: await fetch(of) }));
  const error = () => resource.error as ApiError | undefined;
  return {
    error,
    value: () => {
      // Reading a resource before its first response would hide the page, because it suspends.
      if (resource.state !== "ready" && resource.state !== "refreshing") return undefined;
      return resource.latest?.of === key() ? resource.latest?.value : undefined;
    },
    refetch: () => void refetch(),
  };
}
