import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { build } from "vite";

/**
 * Emits the published package into dist/, from nothing, so that no file of an older build stays: the types of the
 * library, the program in a few files, which load in half the time of one file a module, and the dashboard. With
 * `--missing`, only the dashboard, and only if it is not there: everything else runs from source.
 */
const root = join(import.meta.dirname, "..");
const onlyMissing = process.argv.includes("--missing");

/** What is started or imported by name; see bin/retinue.js, package.json and `ownModule`. */
const ENTRIES = [
  "app/api",
  "app/hooks/hook",
  "app/proxy/recorder-thread",
  "app/runs/run-standby",
  "cli/main",
  "cli/statusline",
];

if (!onlyMissing) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], { stdio: "inherit" });
  const program = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(root, "src", `${name}.ts`)])),
    platform: "node",
    preserveEntrySignatures: "allow-extension",
    external: (id) => !/^[./]|^\w:/.test(id),
  });
  await program.write({
    dir: join(root, "dist"),
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    // Hooks load all manifests, and everything else all providers. `loaded.ts` waits for the providers, so nothing that
    // these need may be in its file.
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        { name: "manifests", test: /\/providers\/(?:index|\w+\/(?:manifest|hook-payload|statusline))\.ts$/ },
        { name: "loaded", test: /\/providers\/loaded\.ts$/ },
        { name: "providers", test: /\/providers\// },
      ],
    },
  });
  await program.close();
}
if (!onlyMissing || !existsSync(join(root, "dist", "web", "index.html")))
  await build({ configFile: join(root, "web", "vite.config.ts") });
