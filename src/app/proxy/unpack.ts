import type { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { unpackingStream, unpackWhole } from "../../transports/unpack.ts";

type OnText = (text: string, bytes: number, at: number) => void;

/**
 * Gives the text of a copy of what goes by packed, and not more than `MAX_RECORD` of it. What is cut off in the middle
 * is read up to there.
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
    // Not what it says it is, or cut off: then it is closed.
    this.#stream?.on("error", () => {});
  }

  push(bytes: Uint8Array, at: number): void {
    this.#at = at;
    this.#packed += bytes.length;
    if (this.#stream === null) this.#say(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    // It is unpacked later, and the bytes are valid only now.
    else if (!this.#stream.destroyed) this.#stream.write(new Uint8Array(bytes));
  }

  /** Everything was told when `done` is called. */
  end(done: () => void): void {
    this.#onEnd = done;
    if (this.#stream === null || this.#stream.closed) this.#finish();
    else this.#stream.end();
  }

  #unpack(bytes: Buffer) {
    this.#unpacked += bytes.length;
    if (this.#unpacked > MAX_RECORD) this.#stream?.destroy();
    else this.#say(bytes);
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
    // What was not unpacked any more counts as well.
    if (done !== null && (rest !== "" || this.#packed > 0)) this.#onText(rest, this.#packed, this.#at);
    this.#packed = 0;
    done?.();
  }

  /** A body that is there as a whole; null where it cannot be unpacked. */
  static whole(bytes: Buffer, encoding: string): string | null {
    try {
      return unpackWhole(bytes, encoding, MAX_RECORD).toString();
    } catch {
      // Cut off, too large, or not what it says it is: then only its size is known.
      return null;
    }
  }
}
