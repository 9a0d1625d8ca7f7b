import { renameSync } from "node:fs";

/** Errors of Windows while another program, such as a virus scanner, has one of the files open. */
const BUSY: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY"]);
const PAUSES_MS = [10, 20, 40, 80, 160, 320, 640];

/** Replaces a file atomically. Retries on Windows, where this fails while another program has the file open. */
export function renameOver(
  from: string,
  to: string,
  platform: string = process.platform,
  rename: typeof renameSync = renameSync,
  pause: (ms: number) => void = blockFor,
): void {
  for (const ms of platform === "win32" ? PAUSES_MS : []) {
    try {
      rename(from, to);
      return;
    } catch (error) {
      if (!BUSY.has((error as NodeJS.ErrnoException).code)) throw error;
      pause(ms);
    }
  }
  rename(from, to);
}

function blockFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
