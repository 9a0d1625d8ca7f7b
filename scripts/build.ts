import { execFileSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type CodeSplittingNameFunction, rolldown } from "rolldown";
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
  "app/hooks/lineage-hook",
  "app/proxy/recorder-thread",
  "app/runs/gate-client",
  "app/runs/run-standby",
  "cli/main",
  "cli/statusline",
];

/**
 * Programs whose start-up time matters, and the providers, which `loaded.ts` awaits. Modules that are imported by exactly
 * the same of these become one file: fewer files to find and link, and a program loads only files that it needs.
 */
const STARTED: Readonly<Record<string, RegExp>> = {
  hook: /\/app\/hooks\/(?:lineage-)?hook\.ts$/,
  statusline: /\/cli\/statusline\.ts$/,
  providers: /\/providers\/(?:\w+\/provider|proxy\/index|run\/index)\.ts$/,
  library: /\/app\/api\.ts$/,
  cli: /\/cli\/main\.ts$/,
};

type Graph = Parameters<CodeSplittingNameFunction>[1];

/** The file of a module; null if only other programs import it. */
function fileOf(module: string, graph: Graph): string | null {
  const importers = importersOf(module, graph);
  const names = Object.entries(STARTED).filter(([, started]) => importers.some((importer) => started.test(importer)));
  return names.map(([name]) => name).join("-") || null;
}

/** The modules that import it statically, directly or through others. */
function importersOf(module: string, graph: Graph): readonly string[] {
  const found = new Set(graph.getModuleInfo(module)?.importers);
  for (const one of found) for (const importer of graph.getModuleInfo(one)?.importers ?? []) found.add(importer);
  return [...found];
}

if (!onlyMissing) {
  rmSync(join(root, "dist"), { recursive: true, force: true });
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  execFileSync(process.execPath, [compiler, "-p", join(root, "tsconfig.build.json")], { stdio: "inherit" });
  const program = await rolldown({
    input: Object.fromEntries(ENTRIES.map((name) => [name, join(root, "src", `${name}.ts`)])),
    platform: "node",
    // Hooks import dynamically what other programs load anyway.
    checks: { ineffectiveDynamicImport: false },
    preserveEntrySignatures: "allow-extension",
    external: (id) => !/^[./]|^\w:/.test(id),
  });
  await program.write({
    dir: join(root, "dist"),
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: fileOf, debugName: "loaded together" }] },
  });
  await program.close();
}
if (!onlyMissing || !existsSync(join(root, "dist", "web", "index.html")))
  await build({ configFile: join(root, "web", "vite.config.ts") });
