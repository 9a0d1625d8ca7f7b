import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { recordedLine, recordedNote } from "../core/ports/recording.ts";
import type { JsonObject } from "../core/tools/json.ts";
import { openPrivate, privateFolder } from "./private.ts";
import { openRegular } from "./regular.ts";

const NEWLINE = 10;

/** More than one read of a pipe returns, including the framing of the recording. */
const END_BYTES = 256 << 10;

/** The last lines of a recording; the first one may be incomplete. */
export function endOfRecording(path: string): string {
  const file = openRegular(path);
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, END_BYTES));
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
  } finally {
    closeSync(file);
  }
}

/**
 * Appends the lines of a live source to a file before they are processed. A crash loses at most the line being written.
 * Never throws, so that a full disk does not affect the source; errors are reported once and counted.
 */
export class Recorder {
  readonly path: string;
  readonly #onFailure: (error: Error) => void;
  #file: number | null = null;
  /** The last line is incomplete: the next one must start on a new line. */
  #isTorn = false;
  /** Number of lines that could not be written. */
  lost = 0;

  constructor(path: string, onFailure: (error: Error) => void = () => {}) {
    this.path = path;
    this.#onFailure = onFailure;
  }

  /** Appends a line of the source. */
  line(line: string, at = Date.now()): void {
    this.#append(recordedLine(line, at));
  }

  /** Appends a note of retinue. */
  note(note: JsonObject, at = Date.now()): void {
    this.#append(recordedNote(note, at));
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #append(line: string) {
    try {
      this.#file ??= this.#open();
      const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line);
      this.#isTorn = true;
      // A full disk accepts only a part.
      for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done);
      this.#isTorn = false;
    } catch (error) {
      if (this.lost === 0) this.#onFailure(error as Error);
      this.lost += 1;
    }
  }

  #open(): number {
    privateFolder(dirname(this.path));
    const file = openPrivate(this.path, "a+");
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    this.#isTorn = size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== NEWLINE;
    return file;
  }
}
