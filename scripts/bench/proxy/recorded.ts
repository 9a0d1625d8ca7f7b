import { closeSync, existsSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const POLL_MS = 20;
const PATIENCE_MS = 600_000;
/** The end of a recorded exchange: its row is one line, and `bytes` its last field. */
const ENDED = /"is":"ended".*"bytes":(\d+)\}\}$/;

/** Reads what the proxy has recorded since the last time. */
export class Recorded {
  readonly #folder: string;
  readonly #read = new Map<string, number>();
  readonly #rests = new Map<string, string>();
  responses = 0;
  bytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Waits until so many responses are recorded. Throws if bytes of them are missing. */
  async until(responses: number, bytes: number): Promise<void> {
    for (const end = Date.now() + PATIENCE_MS; this.responses < responses; await wait(POLL_MS)) {
      if (Date.now() > end) throw new Error(`the proxy recorded ${this.responses} of ${responses} responses`);
      if (existsSync(this.#folder)) for (const name of readdirSync(this.#folder)) this.#look(name);
    }
    if (this.bytes !== bytes) throw new Error(`the proxy recorded ${this.bytes} of ${bytes} bytes`);
  }

  #look(name: string) {
    const file = openSync(join(this.#folder, name), "r");
    const buffer = Buffer.alloc(1 << 20);
    for (let length = 1; length > 0; ) {
      const from = this.#read.get(name) ?? 0;
      length = readSync(file, buffer, 0, buffer.length, from);
      this.#read.set(name, from + length);
      this.#take(name, buffer.toString("latin1", 0, length));
    }
    closeSync(file);
  }

  #take(name: string, text: string) {
    const lines = `${this.#rests.get(name) ?? ""}${text}`.split("\n");
    this.#rests.set(name, lines.pop() ?? "");
    for (const line of lines) {
      const [, bytes] = ENDED.exec(line.slice(-2_000)) ?? [];
      if (bytes === undefined) continue;
      this.responses += 1;
      this.bytes += Number(bytes);
    }
  }
}
