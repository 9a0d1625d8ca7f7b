import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { build } from "vite";

/**
 * Builds the published package in an empty dist/: the types of the library, the program bundled into a few files,
 * which load in half the time of one file per module, and the dashboard. With `--missing`, builds only the dashboard,
 * and only if it does not exist: everything else runs from source.
 */
const root = join(import.meta.dirname, "..");
const onlyMissing = process.argv.includes("--missing");

/** Modules that are started or imported by path; see bin/retinue.js, package.json and `ownModule`. */
const ENTRIES = [
  "app/api",
  "app/hooks/hook",
  "app/proxy/recorder-thread",
  "app/runs/gate-client",
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
    // Hooks load only the manifests; other commands load all providers. `loaded.ts` has a top-level await on the
    // providers, so its chunk must not contain anything that they import.
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          name: "manifests",
          test: /\/providers\/(?:index|\w+\/(?:manifest|hook-payload|hook-guard|hook-output|statusline))\.ts$/,
        },
        { name: "loaded", test: /\/providers\/loaded\.ts$/ },
        { name: "providers", test: /\/providers\// },
      ],
    },
  });
  await program.close();
}
if (!onlyMissing || !existsSync(join(root, "dist", "web", "index.html")))
  await build({ configFile: join(root, "web", "vite.config.ts") });
