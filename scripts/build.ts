import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";

/**
 * Emits the published package into dist/, from nothing, so that no file of an older build stays.
 * With `--missing`, only the dashboard, and only if it is not there: everything else runs from source.
 */
const root = join(import.meta.dirname, "..");
const onlyMissing = process.argv.includes("--missing");
if (!onlyMissing) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  execFileSync(
    process.execPath,
    [join(root, "node_modules", "typescript", "bin", "tsc"), "-p", join(root, "tsconfig.build.json")],
    { stdio: "inherit" },
  );
}
if (!onlyMissing || !existsSync(join(root, "dist", "web", "index.html")))
  await build({ configFile: join(root, "web", "vite.config.ts") });
