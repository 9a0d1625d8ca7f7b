import { chmodSync, closeSync, fchmodSync, fstatSync, lstatSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Every folder and file of our own is made here, for this user alone whatever the umask: transcripts are private, and so are copies of them.
 * A umask of our own would not do: agents that we start, and programs that use us as a library, have theirs.
 */
const [FOLDER, FILE] = [0o700, 0o600];
const OTHERS = 0o077;
const STICKY = 0o1000;

export function privateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: FOLDER });
}

/** The file, made if it is missing, and closed to others if it was not. */
export function openPrivate(path: string, flags: "a" | "a+" | "w" | "wx"): number {
  const file = openSync(path, flags, FILE);
  const { mode } = fstatSync(file);
  if (isOpen(mode)) quietly(() => fchmodSync(file, mode & ~OTHERS));
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

/** For SQLite, which gives its write-ahead log the mode of the database. Where it fails, SQLite says why when it opens the file. */
export function privateDatabase(path: string): void {
  quietly(() => closeSync(openPrivate(path, "a")));
}

/**
 * Closes a folder to others, with those of its entries that `isOurs` names: an older version may have left them open.
 * A folder is closed after what is in it, so that one that was interrupted is gone through again.
 */
export function closeToOthers(folder: string, isOurs: (name: string) => boolean): void {
  quietly(() => {
    for (const name of readdirSync(folder)) if (isOurs(name)) closeEntry(join(folder, name));
    const { mode } = statSync(folder);
    // The folder for temporary files is everybody's, and stays so.
    if (isOpen(mode) && (mode & STICKY) === 0) chmodSync(folder, mode & ~OTHERS);
  });
}

/** What lies in a folder that is closed is closed, too. */
function closeEntry(path: string): void {
  quietly(() => {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink() || !isOpen(stats.mode)) return;
    if (stats.isDirectory()) for (const name of readdirSync(path)) closeEntry(join(path, name));
    chmodSync(path, stats.mode & ~OTHERS);
  });
}

/** On Windows, access follows from the folder of the user, and modes say nothing. */
const isOpen = (mode: number) => process.platform !== "win32" && (mode & OTHERS) !== 0;

/** The file may be gone by now, or another user's. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // What could not be changed stays as it is.
  }
}
