import type { Transform } from "node:stream";
import * as zlib from "node:zlib";
import { TooLarge } from "../core/limits.ts";

type Packing = { readonly whole: (bytes: Buffer, options: zlib.ZlibOptions) => Buffer; readonly stream: () => Transform };

/** What is cut off in the middle is unpacked up to there. */
const LOOSE = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
const GZIP: Packing = { whole: zlib.gunzipSync, stream: () => zlib.createGunzip(LOOSE) };
/** By the names of HTTP's `Content-Encoding`. */
const PACKINGS: ReadonlyMap<string, Packing> = new Map([
  ["gzip", GZIP],
  ["x-gzip", GZIP],
  ["deflate", { whole: zlib.inflateSync, stream: () => zlib.createInflate(LOOSE) }],
  ["br", { whole: zlib.brotliDecompressSync as Packing["whole"], stream: () => zlib.createBrotliDecompress() }],
  // Since Node 22.15.
  ["zstd", { whole: zlib.zstdDecompressSync as Packing["whole"], stream: () => zlib.createZstdDecompress() }],
]);

/** Unpacks all of it, and never more than `max` bytes. Throws where it is larger, cut off, or packed in another way. */
export function unpackWhole(bytes: Buffer, encoding: string | null, max: number): Buffer {
  if (encoding === null || encoding === "identity") return bytes;
  const packing = PACKINGS.get(encoding);
  if (packing === undefined) throw new Error(`packed as ${encoding}, which is not known here`);
  try {
    return packing.whole(bytes, { maxOutputLength: max });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") throw new TooLarge(`more than ${max} bytes when unpacked`);
    throw error;
  }
}

/** Unpacks what is written to it; null where nothing is packed, or in a way that is not known. Whoever reads it counts, and destroys it when it is too much. */
export function unpackingStream(encoding: string | null): Transform | null {
  return (encoding === null ? undefined : PACKINGS.get(encoding))?.stream() ?? null;
}
