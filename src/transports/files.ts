import { createHash } from "node:crypto";
import { closeSync, constants, createReadStream, type Dirent, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { MAX_RECORD } from "../core/limits.ts";
import { basename, dirname, join } from "./system/paths.ts";

/** Counts the work done, so that tests can hold us to it. */
export interface ReadCounts {
  files: number;
  bytes: number;
  lines: number;
  /** Of databases: questions asked, and rows that came back. */
  queries: number;
  rows: number;
}

export const noReads = (): ReadCounts => ({ files: 0, bytes: 0, lines: 0, queries: 0, rows: 0 });

/** Those of the folders that were not seen yet under any name: people link one configuration folder into another. */
export async function unseenFolders(root: string, folders: readonly string[], seen: Set<string>): Promise<string[]> {
  const unseen: string[] = [];
  for (const folder of folders) {
    const path = join(root, folder);
    const identity = await identityOf(path);
    if (!seen.has(identity)) unseen.push(folder);
    seen.add(identity);
  }
  return unseen;
}

/** The same for every spelling of a folder's path: by links, and by upper and lower case where the file system ignores that. */
async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    // Some network drives number nothing.
    return ino === 0n ? await realpath(path) : `${dev}:${ino}`;
  } catch {
    // What is missing, or may not be looked at, is left to the walk.
    return path;
  }
}

/**
 * The folders that a path stands for: itself, or all that its last part fits, if that has a `*` in it. Where none does, the path as it is written.
 * Where everybody may make folders, only this user's count: others could plant theirs under any name that fits.
 */
export function foldersLike(path: string): readonly string[] {
  if (!path.includes("*")) return [path];
  const parent = dirname(path);
  const [start = "", end = ""] = basename(path).split("*");
  try {
    // Windows has no such user ids, and a folder for temporary files for each user.
    const own = process.getuid?.();
    const isShared = own !== undefined && (statSync(parent).mode & WRITTEN_BY_ALL) !== 0;
    const found = readdirSync(parent, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && entry.name.startsWith(start) && entry.name.slice(start.length).endsWith(end))
      .map(({ name }) => join(parent, name))
      .filter((folder) => !isShared || lstatSync(folder).uid === own);
    return found.length === 0 && !isShared ? [path] : found.sort();
  } catch {
    // Not there, or not ours to look into.
    return [path];
  }
}

const WRITTEN_BY_ALL = 0o002;

/** In a list of folders to walk. */
export const ROOT_ITSELF = ".";
/** The same, with everything below it. */
export const WHOLE_ROOT = "";

/** What lies where a file could: a folder, or something that must not be opened, since a pipe would keep us waiting and a link may lead in a circle. */
export type OtherEntry = "folder" | "link" | "pipe" | "socket" | "device";

/** Files that lie side by side. */
export interface FilesOfFolder {
  /** From the root, with `/`. */
  readonly folder: string;
  readonly paths: readonly string[];
}

/**
 * Every file below `root/<folder>`, folder by folder, as paths from the root with `/`; of the folder `.`, the root itself, only the files right in it; of the empty name, all of the root.
 * Links are not followed; what vanishes or may not be read on the way is told, not thrown. What is no file is told to `onOther`, folders included.
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
      if (entry.isDirectory()) queue.push(path);
      onOther(path, otherEntry(entry));
    }
    yield { folder, paths };
    await breathe();
  }
}

/** At once, here and below: there are tens of thousands of files, and waiting for each of them by itself takes ten times as long. */
function entriesOf(folder: string, onError: (path: string, error: Error) => void): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR") onError(folder, error as Error);
    return [];
  }
}

/** How long reading may keep everything else waiting. */
const TURN_MS = 20;
let turn = 0;

/** Lets everything else have its turn, now and then. */
export async function breathe(): Promise<void> {
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

export async function fileSize(path: string): Promise<number> {
  return (await stat(path)).size;
}

/** More than any first record is seen to have, and little enough to be read of every file that lies about. */
const HEAD_BYTES = 4 << 20;

/** The first bytes of a file, or all of them. */
export async function readHead(path: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { end: HEAD_BYTES - 1 }) as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Does `later` begin with everything that is in `earlier`? */
export async function continues(earlier: string, later: string): Promise<boolean> {
  const [a, b] = [await open(earlier), await open(later)];
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

export function readWhole(path: string, counts: ReadCounts, max = MAX_RECORD): Uint8Array {
  const file = openSync(path, WITHOUT_WAITING);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is no file any more");
    if (stats.size > max) throw new Error(`${stats.size} bytes are more than one record can have`);
    const bytes = readFileSync(file);
    counts.files += 1;
    counts.bytes += bytes.length;
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** The same for one that may be gone by now. */
export function readIfThere(path: string): Uint8Array | null {
  try {
    return readWhole(path, noReads());
  } catch {
    // Gone, half written, or not ours to read: then there is nothing to show of it.
    return null;
  }
}

/** Opens a file to be read; whatever took its place since it was found must not keep us waiting. */
export const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** What distinguishes a file from another one at the same place, without opening it. */
export interface FileStamp {
  readonly identity: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Null where the file system does not know. */
  readonly bornMs: number | null;
}

/** Links are not followed, and only files have one. */
export function stampOf(path: string): FileStamp {
  const stats = lstatSync(path);
  if (!stats.isFile()) throw new Error("it is no file any more");
  const { dev, ino, size, mtimeMs, birthtimeMs } = stats;
  return { identity: `${dev}:${ino}`, size, modifiedMs: mtimeMs, bornMs: birthtimeMs > 0 ? birthtimeMs : null };
}

const TAIL_BYTES = 96;

/** A fingerprint of the bytes just before `offset`: the same as before means that what follows was appended. */
export function tailBefore(path: string, offset: number, counts: ReadCounts): string {
  const length = Math.min(TAIL_BYTES, offset);
  if (length === 0) return "";
  const file = openSync(path, WITHOUT_WAITING);
  try {
    const buffer = Buffer.alloc(length);
    const read = readSync(file, buffer, 0, length, offset - length);
    counts.bytes += read;
    return createHash("sha1").update(buffer.subarray(0, read)).digest("base64").slice(0, 12);
  } finally {
    closeSync(file);
  }
}
