import { once } from "node:events";
import * as zlib from "node:zlib";
import { describe, expect, it } from "vitest";
import { TooLarge } from "../core/tools/limits.ts";
import { unpackingStream, unpackWhole } from "./unpack.ts";

const MAX = 1 << 20;
const PACKED = [
  ["gzip", zlib.gzipSync],
  ["x-gzip", zlib.gzipSync],
  ["deflate", zlib.deflateSync],
  ["br", zlib.brotliCompressSync],
  ["zstd", zlib.zstdCompressSync],
] as const;

describe.each(PACKED)("data packed as %s", (encoding, pack) => {
  it("is unpacked up to the limit, and rejected beyond it", () => {
    const full = Buffer.alloc(MAX, "ä");
    expect(unpackWhole(pack(full), encoding, MAX).equals(full)).toBe(true);
    const bomb = pack(Buffer.alloc(16 * MAX));
    expect(() => unpackWhole(bomb, encoding, MAX)).toThrow(TooLarge);
    expect(() => unpackWhole(Buffer.from("not packed"), encoding, MAX)).toThrow();
  });

  it("is unpacked piece by piece, and no further once the reader stops", async () => {
    const stream = unpackingStream(encoding);
    let bytes = 0;
    stream?.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes > MAX) stream.destroy();
    });
    stream?.write(pack(Buffer.alloc(16 * MAX)));
    if (stream !== null) await once(stream, "close");
    expect(bytes).toBeGreaterThan(MAX);
    expect(bytes).toBeLessThanOrEqual(2 * MAX);
  });
});

it("data that is not packed is returned unchanged", () => {
  const bytes = Buffer.from("as it is");
  expect([unpackWhole(bytes, null, MAX), unpackWhole(bytes, "identity", MAX)]).toEqual([bytes, bytes]);
  expect(() => unpackWhole(bytes, "compress", MAX)).toThrow(/compress/);
  expect([unpackingStream(null), unpackingStream("identity"), unpackingStream("compress")]).toEqual([null, null, null]);
});
