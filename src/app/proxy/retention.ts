import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";

/** Null: unlimited. */
export interface Retention {
  readonly ageMs: number | null;
  readonly bytes: number | null;
}

/** The recordings that are left, and those that were removed. */
export interface Kept {
  readonly files: number;
  readonly bytes: number;
  readonly removedFiles: number;
  readonly removedBytes: number;
}

/**
 * Deletes recordings that are too old, then the oldest ones until the size limit is met. Returns what is left.
 */
export function keepWithin(folder: string, { ageMs, bytes }: Retention, now: number): Kept {
  const files = recordingsIn(folder).sort((a, b) => b.at - a.at);
  let [kept, left] = [0, 0];
  const removed: { readonly size: number }[] = [];
  for (const file of files) {
    const isTooOld = ageMs !== null && now - file.at > ageMs;
    // The newest one is kept, whatever its size: it may be in use.
    const isTooMuch = bytes !== null && kept > 0 && left + file.size > bytes;
    if ((isTooOld || isTooMuch) && remove(file.path)) removed.push(file);
    else {
      kept += 1;
      left += file.size;
    }
  }
  return {
    files: kept,
    bytes: left,
    removedFiles: removed.length,
    removedBytes: removed.reduce((sum, { size }) => sum + size, 0),
  };
}

function recordingsIn(folder: string): { readonly path: string; readonly at: number; readonly size: number }[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".jsonl"))
      .flatMap((name) => {
        const stats = statSync(join(folder, name), { throwIfNoEntry: false });
        return stats?.isFile() === true ? [{ path: join(folder, name), at: stats.mtimeMs, size: stats.size }] : [];
      });
  } catch {
    // Nothing was recorded yet.
    return [];
  }
}

function remove(path: string): boolean {
  try {
    rmSync(path);
    return true;
  } catch {
    // No permission, or a read-only disk: it is kept, and counted.
    return false;
  }
}
