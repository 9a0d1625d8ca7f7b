/** Runs once, before all tests: creates what several tests need and only one process may create at a time. */
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { browserPath } from "../dashboard/browser.ts";
import { preparePostgres } from "./postgres.ts";

const ROOT = join(import.meta.dirname, "../..");

export function setup(): () => Promise<void> {
  const stopPostgres = preparePostgres();
  buildIfOld();
  try {
    browserPath();
  } catch {
    // Tests that need a browser report that it is missing; the others run.
  }
  return stopPostgres;
}

/** Tests start the built program, which must be up to date with the sources. */
function buildIfOld(): void {
  const built = changedMs(join(ROOT, "dist/cli/main.js"));
  const sources = ["src", "web/src"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }),
  );
  if (!sources.some((entry) => entry.isFile() && changedMs(join(entry.parentPath, entry.name)) > built)) return;
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts")], { stdio: ["ignore", "ignore", "inherit"] });
}

const changedMs = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
