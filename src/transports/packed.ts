import { closeSync, createReadStream, fstatSync, readSync, statSync } from "node:fs";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { MAX_RECORD, MAX_UNPACK_RATIO, TooLarge } from "../core/tools/limits.ts";
import { openRegular } from "./regular.ts";

/** Compression formats of files. */
export type Packing = "zstd";

/**
 * The unpacked data in chunks, after the first `from` bytes; each buffer is valid until the next iteration. Throws for
 * a decompression bomb or a truncated file.
 */
export async function* unpacked(path: string, from: number): AsyncGenerator<Buffer> {
  checkWhole(path);
  const unpacking = createZstdDecompress();
  // Errors of both streams surface in the iteration below.
  pipeline(createReadStream(path, { fd: openRegular(path), start: 0 }), unpacking, () => {});
  const max = MAX_RECORD + MAX_UNPACK_RATIO * statSync(path).size;
  let position = 0;
  for await (const chunk of unpacking as AsyncIterable<Buffer>) {
    const start = Math.max(0, from - position);
    position += chunk.length;
    if (position > max) throw new TooLarge(`it unpacks to more than ${max} bytes (${MAX_UNPACK_RATIO} times its size)`);
    if (start < chunk.length) yield chunk.subarray(start);
  }
}

const FRAME = 0xfd2fb528;
const SKIPPED_FRAME = 0x184d2a50;
const RUN_LENGTH_BLOCK = 1;

/**
 * Throws if the last zstd frame or block (RFC 8878) is truncated: Node.js 22 treats that as the end of the file. Reads
 * headers only.
 */
function checkWhole(path: string): void {
  const file = openRegular(path);
  try {
    const { size } = fstatSync(file);
    const number = (at: number, bytes: number) => {
      const buffer = Buffer.alloc(bytes);
      if (readSync(file, buffer, 0, bytes, at) < bytes) throw new Error("unexpected end of file");
      return buffer.readUIntLE(0, bytes);
    };
    let at = 0;
    while (at < size) {
      const magic = number(at, 4);
      if (magic !== FRAME && magic - (magic % 16) !== SKIPPED_FRAME)
        throw new Error("it is not zstd data, despite its name");
      at = magic === FRAME ? afterFrame(number, at + 4) : at + 8 + number(at + 4, 4);
    }
    if (at > size) throw new Error("unexpected end of file");
  } finally {
    closeSync(file);
  }
}

/** The end of the frame whose descriptor is at `start`. */
function afterFrame(number: (at: number, bytes: number) => number, start: number): number {
  const descriptor = number(start, 1);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  let at = start + 1 + (isSingleSegment ? 0 : 1) + dictionaryBytes + sizeBytes;
  for (let isLast = false; !isLast; ) {
    const block = number(at, 3);
    isLast = (block & 1) === 1;
    at += 3 + (((block >> 1) & 3) === RUN_LENGTH_BLOCK ? 1 : block >> 3);
  }
  return at + ((descriptor & 4) !== 0 ? 4 : 0);
}
