import type { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { unpackingStream, unpackWhole } from "../../transports/unpack.ts";

type OnText = (text: string, bytes: number, at: number) => void;

/**
 * Decompresses and decodes a response for the recording, up to `MAX_RECORD` bytes. A truncated response is read as far
 * as it goes.
 */
export class Unpacker {
  readonly #onText: OnText;
  readonly #decoder = new StringDecoder("utf8");
  readonly #stream: Transform | null;
  #at = 0;
  #packed = 0;
  #unpacked = 0;
  #onEnd: (() => void) | null = null;

  constructor(encoding: string | null, onText: OnText) {
    this.#onText = onText;
    this.#stream = unpackingStream(encoding);
    this.#stream?.on("data", (bytes: Buffer) => this.#unpack(bytes));
    this.#stream?.on("close", () => this.#finish());
    // Corrupt or truncated: the stream closes.
    this.#stream?.on("error", () => {});
  }

  push(bytes: Uint8Array, at: number): void {
    this.#at = at;
    this.#packed += bytes.length;
    if (this.#stream === null) this.#emit(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    // Copied, because it is decompressed later and the bytes are valid only now.
    else if (!this.#stream.destroyed) this.#stream.write(new Uint8Array(bytes));
  }

  /** Calls `done` after the last text. */
  end(done: () => void): void {
    this.#onEnd = done;
    if (this.#stream === null || this.#stream.closed) this.#finish();
    else this.#stream.end();
  }

  #unpack(bytes: Buffer) {
    this.#unpacked += bytes.length;
    if (this.#unpacked > MAX_RECORD) this.#stream?.destroy();
    else this.#emit(bytes);
  }

  #emit(bytes: Buffer) {
    const packed = this.#packed;
    this.#packed = 0;
    this.#onText(this.#decoder.write(bytes), packed, this.#at);
  }

  #finish() {
    const done = this.#onEnd;
    this.#onEnd = null;
    const rest = done === null ? "" : this.#decoder.end();
    // Bytes that were not decompressed are counted, too.
    if (done !== null && (rest !== "" || this.#packed > 0)) this.#onText(rest, this.#packed, this.#at);
    this.#packed = 0;
    done?.();
  }

  /** Decompresses a complete body; null if that fails. */
  static whole(bytes: Buffer, encoding: string): string | null {
    try {
      return unpackWhole(bytes, encoding, MAX_RECORD).toString();
    } catch {
      // Truncated, too large or corrupt: only its size is known.
      return null;
    }
  }
}
