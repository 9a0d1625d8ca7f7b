/**
 * The only file of this folder that names the implementation of the stores. They are loaded on demand, because not
 * every command needs them.
 */
import type { Kept } from "../core/ports/kept.ts";
import type { Shipped } from "../core/ports/shipped.ts";
import type { Store } from "../core/ports/store.ts";

type Sqlite = typeof import("node:sqlite");

export const loadSqlite = async (): Promise<Sqlite> => (await import("../stores/sqlite/load.ts")).loadSqlite();

/** `path` may be `:memory:`. `reader` identifies the version of the parsers. */
export async function openIndex(path: string, reader: string, waitMs?: number): Promise<Store> {
  const { openSqliteStore } = await import("../stores/sqlite/store.ts");
  return openSqliteStore(path, reader, waitMs);
}

/** `path` may be `:memory:`. */
export async function openShippedFile(path: string): Promise<Shipped> {
  const { openShipped } = await import("../stores/sqlite/shipped.ts");
  return openShipped(path);
}

/** Opens and copies files with the content of `kept.sqlite`. */
export interface KeptFiles {
  open(path: string, options?: { readonly readOnly?: boolean }): Kept;
  /** Copies the readable content of a file into another one. Returns false if some of it cannot be read. */
  copy(from: string, to: string): boolean;
}

export async function keptFiles(): Promise<KeptFiles> {
  const [{ copyKept, keptIn }, sqlite] = await Promise.all([import("../stores/sqlite/kept.ts"), loadSqlite()]);
  return { open: (path, options) => keptIn(sqlite, path, options), copy: (from, to) => copyKept(sqlite, from, to) };
}
