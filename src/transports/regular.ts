import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";

/**
 * Opens files that may have been replaced by something else: by a pipe, which would block, by a device, which may never
 * end, or by a folder.
 */

/** Without this, opening a pipe waits for its other end. */
const NO_WAIT = constants.O_NONBLOCK ?? 0;

/** Reads a file without blocking, in case it was replaced by a pipe. */
export const WITHOUT_WAITING = constants.O_RDONLY | NO_WAIT;

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR, O_TRUNC, O_WRONLY } = constants;
const WRITES = {
  a: O_APPEND | O_CREAT | O_WRONLY,
  "a+": O_APPEND | O_CREAT | O_RDWR,
  w: O_TRUNC | O_CREAT | O_WRONLY,
  wx: O_TRUNC | O_CREAT | O_WRONLY | O_EXCL,
} as const;
export type WriteFlags = keyof typeof WRITES;

/** One of retinue's own paths is not a regular file. */
export class NotAFile extends Error {
  readonly code = "ENOTFILE";
  readonly is: string;

  constructor(is: string, path = "it") {
    super(`${path} is ${is}, not a file`);
    this.name = "NotAFile";
    this.is = is;
  }
}

/** Opens a regular file; anything else is a NotAFile. */
export function openRegular(path: string, flags: "r" | WriteFlags = "r", mode = 0o600): number {
  const file = opened(path, flags, mode);
  const stats = fstatSync(file);
  if (stats.isFile()) return file;
  closeSync(file);
  throw new NotAFile(kindOf(stats));
}

function opened(path: string, flags: "r" | WriteFlags, mode: number): number {
  try {
    return openSync(path, flags === "r" ? WITHOUT_WAITING : WRITES[flags] | NO_WAIT, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EISDIR") throw new NotAFile("a folder");
    // The pipe has no reader, or it is a socket.
    if (code === "ENXIO") throw new NotAFile("a pipe or a socket");
    throw error;
  }
}

function kindOf(stats: Stats): string {
  if (stats.isDirectory()) return "a folder";
  if (stats.isFIFO()) return "a pipe";
  return stats.isSocket() ? "a socket" : "a device";
}

/** The text of a small regular file. Throws if it is longer than `max` bytes, before reading it. */
export function readText(path: string, max: number): string {
  const file = openRegular(path);
  try {
    const { size } = fstatSync(file);
    if (size > max) throw new Error(`it has ${size} bytes; the limit is ${max}`);
    // The file may grow or shrink while it is read.
    const bytes = Buffer.alloc(max < size + GROWTH ? max : size + GROWTH);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, length);
    return bytes.toString("utf8", 0, length);
  } finally {
    closeSync(file);
  }
}

const GROWTH = 4_096;
