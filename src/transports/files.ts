import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

/** Counts the work done, so that tests can hold us to it. */
export interface ReadCounts {
  files: number;
  bytes: number;
  lines: number;
}

export const noReads = (): ReadCounts => ({ files: 0, bytes: 0, lines: 0 });

/** Longer than any record seen (the longest published one has 1.5 MB), short enough to stay out of trouble. */
const MAX_LINE = 256 * 1024 * 1024;

/** Every file below `root/<folder>`, as paths from the root with `/`. Links are not followed; what vanishes or may not be read on the way is told, not thrown. */
export async function* walk(root: string, folders: readonly string[], onError: (path: string, error: Error) => void): AsyncGenerator<string> {
  const queue = [...folders];
  for (let folder = queue.pop(); folder !== undefined; folder = queue.pop()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" && error.code !== "ENOTDIR") onError(join(root, folder as string), error);
      return [];
    });
    for (const entry of entries) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) queue.push(path);
      else if (entry.isFile()) yield path;
    }
  }
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

export async function readWhole(path: string, counts: ReadCounts): Promise<Uint8Array> {
  const bytes = await readFile(path);
  counts.files += 1;
  counts.bytes += bytes.length;
  return bytes;
}

export type Line =
  /** `ended` is false for a complete last line whose newline is missing. */
  | { readonly is: "line"; readonly bytes: Uint8Array; readonly number: number; readonly end: number; readonly ended: boolean }
  | { readonly is: "unfinished" | "too-long"; readonly number: number; readonly length: number; readonly end: number };

/** Where reading goes on: so many bytes and lines lie behind. */
export interface LinePosition {
  readonly offset: number;
  readonly lines: number;
}

const START: LinePosition = { offset: 0, lines: 0 };

/**
 * The lines of a file, without their ends; `end` is where the next one begins.
 * A last line without an end is still being written: it is told apart, and given only if `whole` says it is complete.
 */
export async function* readLines(
  path: string,
  counts: ReadCounts,
  whole: (line: Uint8Array) => boolean,
  from: LinePosition = START,
): AsyncGenerator<readonly Line[]> {
  counts.files += 1;
  let rest: Buffer[] = [];
  let restLength = 0;
  let number = from.lines;
  let position = from.offset;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20, start: from.offset }) as AsyncIterable<Buffer>) {
    counts.bytes += chunk.length;
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const part = chunk.subarray(start, end);
      const bytes = rest.length === 0 ? part : Buffer.concat([...rest, part]);
      rest = [];
      number += 1;
      const after = position + end + 1;
      if (restLength > MAX_LINE) lines.push({ is: "too-long", number, length: restLength, end: after });
      else if (bytes.some((byte) => byte > 32)) lines.push({ is: "line", bytes, number, end: after, ended: true });
      restLength = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      restLength += chunk.length - start;
      // Beyond the limit only the length is kept.
      rest = restLength > MAX_LINE ? [] : [...rest, chunk.subarray(start)];
    }
    position += chunk.length;
    counts.lines += lines.length;
    yield lines;
  }
  if (restLength > MAX_LINE) {
    yield [{ is: "unfinished", number: number + 1, length: restLength, end: position - restLength }];
    return;
  }
  const bytes = Buffer.concat(rest);
  if (!bytes.some((byte) => byte > 32)) return;
  number += 1;
  yield [
    whole(bytes) ? { is: "line", bytes, number, end: position, ended: false } : { is: "unfinished", number, length: bytes.length, end: position - restLength },
  ];
}

/** What distinguishes a file from another one at the same place, without opening it. */
export interface FileStamp {
  readonly identity: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Null where the file system does not know. */
  readonly bornMs: number | null;
}

export async function stampOf(path: string): Promise<FileStamp> {
  const { dev, ino, size, mtimeMs, birthtimeMs } = await stat(path);
  return { identity: `${dev}:${ino}`, size, modifiedMs: mtimeMs, bornMs: birthtimeMs > 0 ? birthtimeMs : null };
}

const TAIL_BYTES = 96;

/** A fingerprint of the bytes just before `offset`: the same as before means that what follows was appended. */
export async function tailBefore(path: string, offset: number, counts: ReadCounts): Promise<string> {
  const length = Math.min(TAIL_BYTES, offset);
  if (length === 0) return "";
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset - length);
    counts.bytes += bytesRead;
    return createHash("sha1").update(buffer.subarray(0, bytesRead)).digest("base64").slice(0, 12);
  } finally {
    await file.close();
  }
}
