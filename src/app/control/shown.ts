import type { Library } from "../ingest/library.ts";
import { resolve } from "../query/resolve.ts";
import type { Permission } from "../runs/permissions.ts";

/** The same permissions with the URIs that the tree shows: a followed server names a child by its own thread. */
export const asInTree = (library: Library, permissions: readonly Permission[]): Permission[] =>
  permissions.map((permission) => ({ ...permission, uri: uriInTree(library, permission.uri) }));

function uriInTree(library: Library, uri: string | null): string | null {
  if (uri === null) return null;
  try {
    return resolve(library, uri).uri;
  } catch {
    // Not read yet.
    return uri;
  }
}
