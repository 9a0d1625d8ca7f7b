/** Homes that a test may damage. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type RecordedHome, recordedHome } from "../fixtures.ts";

/** A folder for the tests of a file, removed at the end; `FUZZ_KEEP=1` keeps the failed cases. */
export function scratchFolder(): () => string {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "retinue-bad-"));
  });
  afterAll(() => {
    if (process.env.FUZZ_KEEP === undefined) rmSync(folder, { recursive: true });
  });
  return () => folder;
}

export interface SpoilableHome extends RecordedHome {
  readonly data: string;
  /** A path below its configuration folder, which need not exist. */
  at(path: string): string;
  put(path: string, content: string | Uint8Array): string;
}

/** A copy of a recording, and a folder for retinue's own files. */
export function spoilable(folder: string, name: string): SpoilableHome {
  const base = mkdtempSync(join(folder, `${name}-`));
  const recorded = recordedHome("claude", name);
  const home = join(base, "home");
  cpSync(recorded.home, home, { recursive: true });
  const at = (path: string) => join(home, ".claude", path);
  return {
    ...recorded,
    home,
    data: join(base, "data"),
    at,
    put(path, content) {
      mkdirSync(dirname(at(path)), { recursive: true });
      writeFileSync(at(path), content);
      return at(path);
    },
  };
}
