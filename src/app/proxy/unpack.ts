import type { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import * as zlib from "node:zlib";

type OnText = (text: string, bytes: number, at: number) => void;

/** Whatever is more than this is no request or answer of an API. */
const MAX_UNPACKED = 64 << 20;

function openerOf(encoding: string): (() => Transform) | null {
  const loose = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return () => zlib.createGunzip(loose);
    case "deflate":
      return () => zlib.createInflate(loose);
    case "br":
      return () => zlib.createBrotliDecompress();
    case "zstd":
      // Since Node 22.15.
      return () => zlib.createZstdDecompress();
    default:
      return null;
  }
}

/** Gives the text of a copy of what goes by packed. What is cut off in the middle is read up to there. */
export class Unpacker {
  readonly #onText: OnText;
  readonly #decoder = new StringDecoder("utf8");
  readonly #stream: Transform | null;
  #at = 0;
  #packed = 0;
  #onEnd: (() => void) | null = null;

  constructor(encoding: string | null, onText: OnText) {
    this.#onText = onText;
    this.#stream = encoding === null || encoding === "identity" ? null : (openerOf(encoding)?.() ?? null);
    this.#stream?.on("data", (bytes: Buffer) => this.#say(bytes));
    this.#stream?.on("end", () => this.#finish());
    this.#stream?.on("error", () => this.#finish());
  }

  push(bytes: Uint8Array, at: number): void {
    this.#at = at;
    this.#packed += bytes.length;
    if (this.#stream === null) this.#say(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    else if (!this.#stream.destroyed) this.#stream.write(bytes);
  }

  /** Everything was told when `done` is called. */
  end(done: () => void): void {
    this.#onEnd = done;
    if (this.#stream === null || this.#stream.destroyed) this.#finish();
    else this.#stream.end();
  }

  #say(bytes: Buffer) {
    const packed = this.#packed;
    this.#packed = 0;
    this.#onText(this.#decoder.write(bytes), packed, this.#at);
  }

  #finish() {
    const done = this.#onEnd;
    this.#onEnd = null;
    const rest = done === null ? "" : this.#decoder.end();
    if (rest !== "") this.#onText(rest, this.#packed, this.#at);
    done?.();
  }

  /** A body that is there as a whole; null where it cannot be unpacked. */
  static whole(bytes: Buffer, encoding: string): string | null {
    const options = { maxOutputLength: MAX_UNPACKED };
    try {
      if (encoding === "identity") return bytes.toString();
      if (encoding === "gzip" || encoding === "x-gzip") return zlib.gunzipSync(bytes, options).toString();
      if (encoding === "deflate") return zlib.inflateSync(bytes, options).toString();
      if (encoding === "br") return zlib.brotliDecompressSync(bytes, options).toString();
      return encoding === "zstd" ? zlib.zstdDecompressSync(bytes, options).toString() : null;
    } catch {
      // Cut off, or not what it says it is: then only its size is known.
      return null;
    }
  }
}
