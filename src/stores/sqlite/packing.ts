import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { ObservationId } from "../../core/ids.ts";
import type { Observation } from "../../core/observation.ts";

/** Facts of one file, as small as they get: their ids repeat the file's path, and much else repeats too. */
export function pack(observations: readonly Observation[], path: string): Uint8Array {
  const short = observations.map((o) => (o.id.startsWith(path) ? { ...o, id: o.id.slice(path.length) } : { ...o, id: `!${o.id}` }));
  return zstdCompressSync(JSON.stringify(short));
}

export function unpack(facts: Uint8Array, path: string): Observation[] {
  const short = JSON.parse(zstdDecompressSync(facts).toString("utf8")) as Observation[];
  return short.map((o) => ({ ...o, id: (o.id.startsWith("!") ? o.id.slice(1) : path + o.id) as ObservationId }));
}

/** 53 bits, so that it is exact as a number here and as an integer there. Not for secrets. */
export function hash(text: string): number {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}
