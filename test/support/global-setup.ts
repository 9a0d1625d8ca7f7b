/** Runs once, before all tests: what several of them need, and only one at a time can make. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { browserPath } from "../dashboard/browser.ts";

const ROOT = join(import.meta.dirname, "../..");

export function setup(): void {
  buildIfOld();
  try {
    browserPath();
  } catch {
    // Those that need one say what is missing; the others do without.
  }
}

/** Tests that start a process start the built program, which must be that of the sources. */
function buildIfOld(): void {
  const built = changedMs(join(ROOT, "dist/cli/main.js"));
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, withFileTypes: true });
  if (!sources.some((entry) => entry.isFile() && changedMs(join(entry.parentPath, entry.name)) > built)) return;
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts")], { stdio: ["ignore", "ignore", "inherit"] });
}

const changedMs = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
