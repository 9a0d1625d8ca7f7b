import type { Problem } from "../core/facts/problem.ts";
import type { Forest } from "../core/link/forest.ts";
import { PROVIDERS } from "../providers/loaded.ts";
import { MemoryStore } from "../stores/memory.ts";
import type { ReadCounts } from "../transports/files.ts";
import type { RootSeen } from "./ingest/discover.ts";
import { Library, type LibraryOptions } from "./ingest/library.ts";

/** Reads and links everything at once, in memory. For small homes: examples and tests. */
export interface Machine {
  readonly forest: Forest;
  readonly roots: readonly RootSeen[];
  readonly problems: readonly Problem[];
  readonly counts: ReadCounts;
  readonly library: Library;
}

/** Without `price`, no cost is known. */
export async function readMachine(
  options: Omit<LibraryOptions, "store" | "price"> & Partial<Pick<LibraryOptions, "price">>,
): Promise<Machine> {
  const library = new Library({ price: () => null, ...options, store: new MemoryStore() });
  await library.refresh();
  const rows = library.store.roots({ under: library.under, limit: Number.MAX_SAFE_INTEGER });
  const problems = [
    ...library.problems,
    ...library.store.problems(Number.MAX_SAFE_INTEGER).flatMap((p) => p.examples),
    ...library.unfinished(),
  ];
  return {
    forest: library.forestOf(rows.map((r) => r.key)),
    roots: library.roots,
    problems,
    counts: library.counts,
    library,
  };
}

export const PROVIDER_NAMES: readonly string[] = PROVIDERS.map((p) => p.name);
