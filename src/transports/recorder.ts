import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import type { JsonObject } from "../core/json.ts";
import { recordedLine, recordedNote } from "../core/recording.ts";
import { openPrivate, privateFolder } from "./private.ts";

const NEWLINE = 10;

/** More than one read from a pipe gives, with what is recorded around it. */
const END_BYTES = 256 << 10;

/** The last lines of a recording; the first of them may be cut off. */
export function endOfRecording(path: string): string {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, END_BYTES));
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
  } finally {
    closeSync(file);
  }
}

/**
 * Appends what a live source says to a file, line by line, before anybody does anything with it. A crash loses at most the line being written.
 * Never throws: whoever is being watched must not suffer from a full disk. What could not be kept is told once, and counted.
 */
export class Recorder {
  readonly path: string;
  readonly #onFailure: (error: Error) => void;
  #file: number | null = null;
  /** The last line has no end: the next one must not be written behind it. */
  #isTorn = false;
  lost = 0;

  constructor(path: string, onFailure: (error: Error) => void = () => {}) {
    this.path = path;
    this.#onFailure = onFailure;
  }

  /** Something the source said. */
  line(line: string, at = Date.now()): void {
    this.#append(recordedLine(line, at));
  }

  /** Something we know ourselves. */
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
      // A disk that fills up takes part of it.
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
