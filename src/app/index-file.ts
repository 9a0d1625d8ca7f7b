import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "../core/store.ts";
import { MemoryStore } from "../stores/memory.ts";
import { type Env, retinueHome } from "./home.ts";

export const indexPath = (env: Env) => join(retinueHome(env), "index.sqlite");

/** Counts up when parsers or facts change: an index made by another reader is made anew. */
const READER = 7;

/** What the index holds follows from the reader and from the price list, and so from the version of the package. */
function reader(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string };
  return `${version}/${READER}`;
}

export interface OpenedIndex {
  readonly store: Store;
  /** Other threads and processes that open the index see what is written into this one. */
  readonly isShared: boolean;
}

/**
 * Opens the index, whatever state it is in: a corrupt one is set aside and made anew, one of another reader is made anew,
 * a newer one and one that cannot be written are left alone, and everything is read into memory instead. `talk` hears which.
 */
export async function openIndex(env: Env, talk: (words: string) => void): Promise<OpenedIndex> {
  const { openSqliteStore } = await import("../stores/sqlite/store.ts");
  const path = indexPath(env);
  try {
    return { store: await openSqliteStore(path, reader()), isShared: true };
  } catch (error) {
    if (isCorrupt(error)) {
      const aside = setAside(path);
      talk(`the index was damaged (${(error as Error).message}); it is now ${aside} and a new one is made`);
      return { store: await openSqliteStore(path, reader()), isShared: true };
    }
    talk(`reading without the index: ${(error as Error).message}`);
    return { store: new MemoryStore(), isShared: false };
  }
}

/** SQLite's own words for "this is not, or no longer, a database". */
export const isCorrupt = (error: unknown) => error instanceof Error && /malformed|not a database|corrupt/i.test(error.message);

function setAside(path: string): string {
  const aside = `${path}.damaged-${Date.now()}`;
  for (const suffix of ["", "-wal", "-shm"]) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}
