import { createReadStream, statSync } from "node:fs";
import { pipeline } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { MAX_RECORD, MAX_UNPACK_RATIO, TooLarge } from "../core/limits.ts";

/** How the bytes of a file may be packed. */
export type Packing = "zstd";

/** What is packed in a file, piece by piece, each good until the next; the first `from` bytes of it are passed over. A file made to unpack without end throws, and one that is cut off; not so with Node.js 22, which says nothing of it. */
export async function* unpacked(path: string, from: number): AsyncGenerator<Buffer> {
  const unpacking = createZstdDecompress();
  // Errors of either end come out where the pieces are awaited.
  pipeline(createReadStream(path), unpacking, () => {});
  const max = MAX_RECORD + MAX_UNPACK_RATIO * statSync(path).size;
  let position = 0;
  for await (const chunk of unpacking as AsyncIterable<Buffer>) {
    const start = Math.max(0, from - position);
    position += chunk.length;
    if (position > max) throw new TooLarge(`it unpacks to more than ${max} bytes, ${MAX_UNPACK_RATIO} times its size`);
    if (start < chunk.length) yield chunk.subarray(start);
  }
}
