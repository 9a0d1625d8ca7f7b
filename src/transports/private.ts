import {
  chmodSync,
  closeSync,
  fchmodSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { NotAFile, openRegular, type WriteFlags } from "./regular.ts";

/**
 * All folders and files of retinue are created here, with access for this user only, whatever the umask, because
 * transcripts are private. Setting the umask would affect the agents that we start and programs that use the library.
 */
const [FOLDER, FILE] = [0o700, 0o600];
const OTHERS = 0o077;
const STICKY = 0o1000;

export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: FOLDER });
}

/** Opens the file, creating it if missing, and removes access for others. Throws if it is not a regular file. */
export function openPrivate(path: string, flags: WriteFlags): number {
  const file = openRegular(path, flags, FILE);
  const { mode } = fstatSync(file);
  if (isOpen(mode)) ignoringErrors(() => fchmodSync(file, mode & ~OTHERS));
  return file;
}

export function writePrivate(path: string, content: string | Uint8Array, flags: "a" | "w" | "wx" = "w"): void {
  const file = openPrivate(path, flags);
  try {
    writeFileSync(file, content);
  } finally {
    closeSync(file);
  }
}

/**
 * Creates the file of a database before SQLite opens it, because SQLite gives its WAL the mode of the database. If the
 * file cannot be written, SQLite reports it. Throws if it is not a regular file, because SQLite would wait for a pipe.
 */
export function privateDatabase(path: string): void {
  try {
    closeSync(openPrivate(path, "a"));
  } catch (error) {
    if (error instanceof NotAFile) throw new NotAFile(error.is, path);
  }
}

/**
 * Removes access for others from a folder and those of its entries that `isOurs` matches; older versions created them
 * with the default umask. The folder itself is changed last, so that an interrupted run is repeated.
 */
export function closeToOthers(folder: string, isOurs: (name: string) => boolean): void {
  ignoringErrors(() => {
    for (const name of readdirSync(folder)) if (isOurs(name)) closeEntry(join(folder, name));
    const { mode } = statSync(folder);
    // The temp folder stays accessible to all users.
    if (isOpen(mode) && (mode & STICKY) === 0) chmodSync(folder, mode & ~OTHERS);
  });
}

/** Skips folders that are private already, because others cannot reach their entries. */
function closeEntry(path: string): void {
  ignoringErrors(() => {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink() || !isOpen(stats.mode)) return;
    if (stats.isDirectory()) for (const name of readdirSync(path)) closeEntry(join(path, name));
    chmodSync(path, stats.mode & ~OTHERS);
  });
}

/** On Windows access follows from the user's folder; modes mean nothing. */
const isOpen = (mode: number) => process.platform !== "win32" && (mode & OTHERS) !== 0;

/** Ignores errors: the file may no longer exist, or belong to another user. */
function ignoringErrors(work: () => void): void {
  try {
    work();
  } catch {
    // Left unchanged.
  }
}
