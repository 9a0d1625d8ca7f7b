import { hash } from "node:crypto";
import {
  closeSync,
  createReadStream,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { MAX_RECORD } from "../core/tools/limits.ts";
import { openRegular, WITHOUT_WAITING } from "./regular.ts";
import { basename, dirname, join } from "./system/paths.ts";

/** Counts the work done, for tests. */
export interface ReadCounts {
  files: number;
  bytes: number;
  lines: number;
  /** Of databases: queries, and rows returned. */
  queries: number;
  rows: number;
}

export const noReads = (): ReadCounts => ({ files: 0, bytes: 0, lines: 0, queries: 0, rows: 0 });

/** The folders that were not seen yet under any name: one configuration folder may be linked into another. */
export async function newFolders(root: string, folders: readonly string[], seen: Set<string>): Promise<string[]> {
  const unseen: string[] = [];
  for (const folder of folders) {
    const path = join(root, folder);
    const identity = await identityOf(path);
    if (!seen.has(identity)) unseen.push(folder);
    seen.add(identity);
  }
  return unseen;
}

/** The same for all paths of a folder: through links, and in upper or lower case if the file system ignores case. */
async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    // Some network drives have no inode numbers.
    return ino === 0n ? await realpath(path) : `${dev}:${ino}`;
  } catch {
    // Missing or unreadable; the walk reports it.
    return path;
  }
}

/**
 * Expands a `*` in the last part of a path; the path itself if nothing matches. In a folder that any user can write
 * to, only this user's folders count, because others could create matching ones.
 */
export function foldersLike(path: string): readonly string[] {
  if (!path.includes("*")) return [path];
  const parent = dirname(path);
  const [start = "", end = ""] = basename(path).split("*");
  try {
    // Windows has no uids, and a temp folder per user.
    const own = process.getuid?.();
    const isShared = own !== undefined && (statSync(parent).mode & WRITTEN_BY_ALL) !== 0;
    const found = readdirSync(parent, { withFileTypes: true })
      .filter(
        (entry) => entry.isDirectory() && entry.name.startsWith(start) && entry.name.slice(start.length).endsWith(end),
      )
      .map(({ name }) => join(parent, name))
      .filter((folder) => !isShared || lstatSync(folder).uid === own);
    return found.length === 0 && !isShared ? [path] : found.sort();
  } catch {
    // Missing or unreadable.
    return [path];
  }
}

const WRITTEN_BY_ALL = 0o002;

/** In a list of folders to walk: only the files directly in the root. */
export const ROOT_ITSELF = ".";
/** In a list of folders to walk: the root with everything below it. */
export const WHOLE_ROOT = "";

/** Entries that are not files. They must not be opened: a pipe would block, and a link may lead into a cycle. */
export type OtherEntry = "folder" | "link" | "pipe" | "socket" | "device";

/** The files of one folder. */
export interface FilesOfFolder {
  /** Relative to the root, with `/`. */
  readonly folder: string;
  readonly paths: readonly string[];
}

/**
 * Lists every file below `root/<folder>`, folder by folder, as paths relative to the root with `/`; for the folder `.`
 * only files directly in the root; for the empty name the whole root. Links are not followed. Errors and entries that
 * are not files are reported to callbacks.
 */
export async function* walk(
  root: string,
  folders: readonly string[],
  onError: (path: string, error: Error) => void,
  onOther: (path: string, is: OtherEntry) => void = () => {},
): AsyncGenerator<FilesOfFolder> {
  const queue = [...folders];
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const paths: string[] = [];
    for (const entry of entriesOf(join(root, folder), onError)) {
      const path = folder === ROOT_ITSELF || folder === WHOLE_ROOT ? entry.name : `${folder}/${entry.name}`;
      if (entry.isFile()) {
        paths.push(path);
        continue;
      }
      if (entry.isDirectory() && folder === ROOT_ITSELF) continue;
      if (entry.isDirectory() && isMisread(join(root, path))) onError(join(root, path), new Error(NOT_UTF8));
      else if (entry.isDirectory()) queue.push(path);
      onOther(path, otherEntry(entry));
    }
    yield { folder, paths };
    await yieldToEventLoop();
  }
}

export const NOT_UTF8 = "its name is not UTF-8";

/** Whether a name on disk is not UTF-8: Node.js replaces what it cannot decode, and then does not find the file. */
export const isMisread = (path: string): boolean =>
  path.includes("\uFFFD") && lstatSync(path, { throwIfNoEntry: false }) === undefined;

/** Synchronous, because awaiting each of tens of thousands of entries takes ten times as long. */
function entriesOf(folder: string, onError: (path: string, error: Error) => void): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") onError(folder, error as Error);
    return [];
  }
}

/** How long reading may block the event loop. */
const TURN_MS = 20;
/** When the current turn of the event loop began. */
let turn = 0;

/** Yields to the event loop if it was blocked for too long. */
export async function yieldToEventLoop(): Promise<void> {
  if (performance.now() - turn < TURN_MS) return;
  await setImmediate();
  turn = performance.now();
}

function otherEntry(entry: Dirent): OtherEntry {
  if (entry.isDirectory()) return "folder";
  if (entry.isSymbolicLink()) return "link";
  if (entry.isFIFO()) return "pipe";
  return entry.isSocket() ? "socket" : "device";
}

/** Longer than any known first record, and short enough to read of every file. */
const HEAD_BYTES = 4 << 20;

/** The first bytes of a file. */
export async function readHead(path: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  const fd = openRegular(path);
  for await (const chunk of createReadStream(path, { fd, start: 0, end: HEAD_BYTES - 1 }) as AsyncIterable<Buffer>)
    chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Whether `later` begins with all bytes of `earlier`. */
export async function continues(earlier: string, later: string): Promise<boolean> {
  const [a, b] = [await open(earlier, WITHOUT_WAITING), await open(later, WITHOUT_WAITING)];
  const [left, right] = [Buffer.alloc(1 << 20), Buffer.alloc(1 << 20)];
  try {
    for (;;) {
      const { bytesRead: wanted } = await a.read(left, 0, left.length);
      if (wanted === 0) return true;
      for (let got = 0; got < wanted; ) {
        const { bytesRead } = await b.read(right, got, wanted - got);
        if (bytesRead === 0) return false;
        got += bytesRead;
      }
      if (left.compare(right, 0, wanted, 0, wanted) !== 0) return false;
    }
  } finally {
    await Promise.all([a.close(), b.close()]);
  }
}

/** All bytes of a regular file. Throws if it has more than `max`. */
export function readWhole(path: string, counts: ReadCounts, max = MAX_RECORD): Uint8Array {
  const file = openSync(path, WITHOUT_WAITING);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is no longer a file");
    if (stats.size > max) throw new Error(`${stats.size} bytes exceed the record limit`);
    const bytes = readFileSync(file);
    counts.files += 1;
    counts.bytes += bytes.length;
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** The same, or null if the file cannot be read. */
export function readIfThere(path: string): Uint8Array | null {
  try {
    return readWhole(path, noReads());
  } catch {
    // Deleted, incomplete or unreadable.
    return null;
  }
}

/** The first bytes of a file; none if it cannot be read. */
export function headOf(path: string, length: number): Uint8Array {
  const buffer = Buffer.alloc(length);
  try {
    const file = openRegular(path);
    try {
      return buffer.subarray(0, readSync(file, buffer, 0, length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    // Deleted in the meantime, or not readable: reading it reports the reason.
    return buffer.subarray(0, 0);
  }
}

/** Identifies a version of a file without opening it. */
export interface FileStamp {
  readonly identity: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Null if the file system does not report it. */
  readonly bornMs: number | null;
}

/** Does not follow links; throws if it is not a file. */
export function stampOf(path: string): FileStamp {
  const stats = lstatSync(path);
  if (!stats.isFile()) throw new Error("it is no longer a file");
  const { dev, ino, size, mtimeMs, birthtimeMs } = stats;
  return { identity: `${dev}:${ino}`, size, modifiedMs: mtimeMs, bornMs: birthtimeMs > 0 ? birthtimeMs : null };
}

const TAIL_BYTES = 96;

const tailOf = (bytes: Uint8Array) => hash("sha1", bytes, "base64").slice(0, 12);

/** The same as `tailBefore` for the end of a line in memory; null if it is too short. */
export function tailAfter(line: Uint8Array): string | null {
  return line.length < TAIL_BYTES - 1 ? null : tailOf(Buffer.concat([line.subarray(1 - TAIL_BYTES), NEWLINE]));
}

const NEWLINE = Buffer.from("\n");

/** Hash of the bytes just before `offset`: unchanged means that the file was only appended to. */
export function tailBefore(path: string, offset: number, counts: ReadCounts): string {
  const length = Math.min(TAIL_BYTES, offset);
  if (length === 0) return "";
  const file = openSync(path, WITHOUT_WAITING);
  try {
    const buffer = Buffer.alloc(length);
    const read = readSync(file, buffer, 0, length, offset - length);
    counts.bytes += read;
    return tailOf(buffer.subarray(0, read));
  } finally {
    closeSync(file);
  }
}
