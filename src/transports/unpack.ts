import type { Transform } from "node:stream";
import * as zlib from "node:zlib";
import { TooLarge } from "../core/tools/limits.ts";

type Packing = {
  readonly whole: (bytes: Buffer, options: zlib.ZlibOptions) => Buffer;
  readonly stream: () => Transform;
};

/** Truncated data is unpacked as far as possible. */
const ALLOW_TRUNCATED = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
const GZIP: Packing = { whole: zlib.gunzipSync, stream: () => zlib.createGunzip(ALLOW_TRUNCATED) };
/** By `Content-Encoding` name. */
const PACKINGS: ReadonlyMap<string, Packing> = new Map([
  ["gzip", GZIP],
  ["x-gzip", GZIP],
  ["deflate", { whole: zlib.inflateSync, stream: () => zlib.createInflate(ALLOW_TRUNCATED) }],
  ["br", { whole: zlib.brotliDecompressSync as Packing["whole"], stream: () => zlib.createBrotliDecompress() }],
  // Since Node 22.15.
  ["zstd", { whole: zlib.zstdDecompressSync as Packing["whole"], stream: () => zlib.createZstdDecompress() }],
]);

/** Unpacks at most `max` bytes. Throws if the data is larger, truncated, or in an unknown encoding. */
export function unpackWhole(bytes: Buffer, encoding: string | null, max: number): Buffer {
  if (encoding === null || encoding === "identity") return bytes;
  const packing = PACKINGS.get(encoding);
  if (packing === undefined) throw new Error(`unsupported content encoding ${encoding}`);
  try {
    return packing.whole(bytes, { maxOutputLength: max });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
      throw new TooLarge(`more than ${max} bytes when unpacked`);
    throw error;
  }
}

/**
 * A decompression stream; null if the data is not compressed, or in an unknown encoding. The reader must limit the
 * output and destroy the stream.
 */
export function unpackingStream(encoding: string | null): Transform | null {
  return (encoding === null ? undefined : PACKINGS.get(encoding))?.stream() ?? null;
}
