import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
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

export async function readWhole(path: string, counts: ReadCounts): Promise<Uint8Array> {
  const bytes = await readFile(path);
  counts.files += 1;
  counts.bytes += bytes.length;
  return bytes;
}

export type Line =
  | { readonly is: "line"; readonly bytes: Uint8Array; readonly number: number }
  | { readonly is: "unfinished" | "too-long"; readonly number: number; readonly length: number };

/** The lines of a file, without their ends. A last line without an end is still being written: it is told apart, and given only if `whole` says it is complete. */
export async function* readLines(path: string, counts: ReadCounts, whole: (line: Uint8Array) => boolean): AsyncGenerator<readonly Line[]> {
  counts.files += 1;
  let rest: Buffer[] = [];
  let restLength = 0;
  let number = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 }) as AsyncIterable<Buffer>) {
    counts.bytes += chunk.length;
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      const part = chunk.subarray(start, end);
      const bytes = rest.length === 0 ? part : Buffer.concat([...rest, part]);
      rest = [];
      number += 1;
      if (restLength > MAX_LINE) lines.push({ is: "too-long", number, length: restLength });
      else if (bytes.some((byte) => byte > 32)) lines.push({ is: "line", bytes, number });
      restLength = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      restLength += chunk.length - start;
      // Beyond the limit only the length is kept.
      rest = restLength > MAX_LINE ? [] : [...rest, chunk.subarray(start)];
    }
    counts.lines += lines.length;
    yield lines;
  }
  const bytes = Buffer.concat(rest);
  if (!bytes.some((byte) => byte > 32)) return;
  number += 1;
  yield [whole(bytes) ? { is: "line", bytes, number } : { is: "unfinished", number, length: bytes.length }];
}
