import { closeSync, constants, type Dirent, fstatSync, openSync, readSync } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";

/** Counts the work done, so that tests can hold us to it. */
export interface ReadCounts {
  files: number;
  bytes: number;
  lines: number;
}

export const noReads = (): ReadCounts => ({ files: 0, bytes: 0, lines: 0 });

/** Twice the largest request the vendors' APIs take (32 MB), which is the most a record can quote; short enough to stay out of trouble. */
const MAX_RECORD = 64 * 1024 * 1024;

/** Those of the folders that were not seen yet under any name: people link one configuration folder into another. */
export async function unseenFolders(root: string, folders: readonly string[], seen: Set<string>): Promise<string[]> {
  const unseen: string[] = [];
  for (const folder of folders) {
    const path = join(root, folder);
    // What is missing, or cannot be told, is left to the walk.
    const real = await realpath(path).catch(() => path);
    if (!seen.has(real)) unseen.push(folder);
    seen.add(real);
  }
  return unseen;
}

/** What lies where a file could: a folder, or something that must not be opened, since a pipe would keep us waiting and a link may lead in a circle. */
export type OtherEntry = "folder" | "link" | "pipe" | "socket" | "device";

/**
 * Every file below `root/<folder>`, as paths from the root with `/`. Links are not followed; what vanishes or may not be read on the way is told, not thrown.
 * What is no file is told to `onOther`, folders included.
 */
export async function* walk(
  root: string,
  folders: readonly string[],
  onError: (path: string, error: Error) => void,
  onOther: (path: string, is: OtherEntry) => void = () => {},
): AsyncGenerator<string> {
  const queue = [...folders];
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" && error.code !== "ENOTDIR") onError(join(root, folder as string), error);
      return [];
    });
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      if (entry.isFile()) {
        yield path;
        continue;
      }
      if (entry.isDirectory()) queue.push(path);
      onOther(path, otherEntry(entry));
    }
  }
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

export async function readWhole(path: string, counts: ReadCounts, max = MAX_RECORD): Promise<Uint8Array> {
  const size = await fileSize(path);
  if (size > max) throw new Error(`${size} bytes are more than one record can have`);
  const bytes = await readFile(path);
  counts.files += 1;
  counts.bytes += bytes.length;
  return bytes;
}

export type Line =
  | { readonly is: "line"; readonly bytes: Uint8Array; readonly number: number }
  /** `zeroes`: what a crash leaves where something was to be written. A record may follow them in the same line. */
  | { readonly is: "unfinished" | "too-long" | "zeroes"; readonly number: number; readonly length: number };

/**
 * The lines of a file, without their ends. A last line without an end is still being written: it is told apart, and given only if `whole` says it is complete.
 * However long a line is, no more than `max` bytes of it are held. The bytes of the lines are good until the next ones are asked for.
 */
export async function* readLines(path: string, counts: ReadCounts, whole: (line: Uint8Array) => boolean, max = MAX_RECORD): AsyncGenerator<readonly Line[]> {
  counts.files += 1;
  let rest: Buffer[] = [];
  let restLength = 0;
  let number = 0;
  for await (const chunk of chunksOf(path)) {
    counts.bytes += chunk.length;
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const part = chunk.subarray(start, end);
      const length = restLength + part.length;
      number += 1;
      if (length > max) lines.push({ is: "too-long", number, length });
      else addLine(lines, rest.length === 0 ? part : Buffer.concat([...rest, part]), number);
      rest = [];
      restLength = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      restLength += chunk.length - start;
      // Beyond the limit only the length is kept.
      if (restLength > max) rest = [];
      else rest.push(Buffer.from(chunk.subarray(start)));
    }
    counts.lines += lines.length;
    yield lines;
  }
  number += 1;
  if (restLength > max) yield [{ is: "too-long", number, length: restLength }];
  const last: Line[] = [];
  addLine(last, Buffer.concat(rest), number);
  yield last.map((line) => (line.is !== "line" || whole(line.bytes) ? line : { is: "unfinished", number, length: line.bytes.length }));
}

const CHUNK = 1 << 20;
/** How long reading may keep everything else waiting. */
const TURN_MS = 20;
let turn = 0;

/**
 * A file piece by piece, each good until the next. Most transcripts are small and there are thousands of them: reading these at once takes a tenth of the
 * time that a stream for each of them takes.
 */
async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  // Whatever took the file's place since it was found must not keep us waiting.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new Error("it is no file any more");
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK, stats.size + 1));
    for (let read = buffer.length; read === buffer.length; ) {
      if (performance.now() - turn > TURN_MS) {
        await setImmediate();
        turn = performance.now();
      }
      read = readSync(file, buffer, 0, buffer.length, null);
      if (read > 0) yield buffer.subarray(0, read);
    }
  } finally {
    closeSync(file);
  }
}

const NEWLINE = 10;

function addLine(lines: Line[], bytes: Buffer, number: number): void {
  let [start, end] = [0, bytes.length];
  while (start < end && bytes[start] === 0) start += 1;
  while (end > start && bytes[end - 1] === 0) end -= 1;
  const zeroes = bytes.length - (end - start);
  if (zeroes > 0) lines.push({ is: "zeroes", number, length: zeroes });
  const content = zeroes === 0 ? bytes : bytes.subarray(start, end);
  if (content.some((byte) => byte > 32)) lines.push({ is: "line", bytes: content, number });
}
