import { closeSync, readSync } from "node:fs";
import type { Problem } from "../../core/facts/problem.ts";
import type { FileState } from "../../core/ports/store.ts";
import { openRegular } from "../../transports/regular.ts";
import type { Found } from "./discover.ts";

const BLANKS = 64;

/** Incomplete last lines, and transcripts that are empty so far. */
export function unfinishedIn(
  states: readonly FileState[],
  source: (path: string) => Found | undefined,
): readonly Problem[] {
  const problems: Problem[] = [];
  for (const state of states) {
    const { path, size, offset, lines } = state;
    const stream = source(path)?.stream;
    // For a packed file the offset refers to the unpacked data.
    if (stream?.shape !== "lines" || (stream.packed !== undefined && size > 0)) continue;
    if (size === 0) problems.push({ code: "file-empty", where: path, detail: "0 bytes" });
    else if (!isBlankAfter(state))
      problems.push({ code: "line-unfinished", where: `${path}:${lines + 1}`, detail: `${size - offset} bytes` });
    else if (offset === 0) problems.push({ code: "file-empty", where: path, detail: `${size} bytes of whitespace` });
  }
  return problems;
}

/** Blank lines at the end of a file are not incomplete. */
function isBlankAfter({ path, offset, size }: FileState): boolean {
  if (size - offset > BLANKS) return false;
  const file = openRegular(path);
  try {
    const bytes = Buffer.alloc(size - offset);
    readSync(file, bytes, 0, bytes.length, offset);
    return !bytes.some((byte) => byte > 32);
  } finally {
    closeSync(file);
  }
}
