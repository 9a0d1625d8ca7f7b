import { readSync } from "node:fs";
import { MAX_RECORD } from "../core/tools/limits.ts";

/** The body of a response up to `max` bytes. If it is longer, stops reading and closes the connection. */
export async function readBody(
  body: ReadableStream<Uint8Array> | null,
  max: number,
): Promise<{ readonly bytes: Buffer; readonly isWhole: boolean }> {
  const parts: Uint8Array[] = [];
  let room = max;
  // Leaving the loop cancels the stream.
  for await (const part of body ?? []) {
    parts.push(part.subarray(0, room));
    room -= part.length;
    if (room < 0) return { bytes: Buffer.concat(parts), isWhole: false };
  }
  return { bytes: Buffer.concat(parts), isWhole: true };
}

const CHUNK = 1 << 16;

/**
 * All of stdin; null if it is longer than `max`, by default the limit of a record. The rest is then read and dropped, so
 * that the writer does not get EPIPE. `read` fills a buffer and returns the number of bytes, 0 at the end.
 */
export function readInput(max = MAX_RECORD, read: (into: Buffer) => number = readStdin): string | null {
  let parts: Buffer[] | null = [];
  let length = 0;
  let buffer = Buffer.allocUnsafe(CHUNK);
  for (let got = read(buffer); got > 0; got = read(buffer)) {
    length += got;
    if (length > max) parts = null;
    if (parts === null) continue;
    parts.push(buffer.subarray(0, got));
    buffer = Buffer.allocUnsafe(CHUNK);
  }
  return parts === null ? null : Buffer.concat(parts).toString("utf8");
}

function readStdin(into: Buffer): number {
  try {
    return readSync(0, into);
  } catch (error) {
    // On Windows, reading a pipe that its writer has closed fails with EOF.
    if ((error as NodeJS.ErrnoException).code === "EOF") return 0;
    throw error;
  }
}
