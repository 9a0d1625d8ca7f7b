/** What a command loads at startup. Counts modules, not milliseconds. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as products from "../../src/providers/index.ts";
import { retinueProcess } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";
import { withoutComments } from "../support/source-files.ts";

const ROOT = join(import.meta.dirname, "../..");
const NOTE_PACKAGES = pathToFileURL(join(import.meta.dirname, "../support/note-packages.ts")).href;
const HOME = recordedHome("claude", "c-nested").home;
const [PRICES, YAML, SQLITE] = ["@pydantic/genai-prices", "yaml", "node:sqlite"];
const HEAVY = new Set([PRICES, YAML, SQLITE]);

const scratch = mkdtempSync(join(tmpdir(), "retinue-loading-"));
afterAll(() => rmSync(scratch, { recursive: true }));

describe("of the packages that are slow to load:", () => {
  const indexed = join(scratch, "indexed");
  beforeAll(async () => {
    await retinueProcess(HOME, ["ls"], { RETINUE_HOME: indexed });
  });

  it.each([
    [["--version"], []],
    [["--help"], []],
    [["tree", "--help"], []],
    [["completions", "bash"], []],
    [["why", "latest"], [SQLITE]],
    [["events", "latest"], [SQLITE]],
    [["search", "deeper"], [SQLITE]],
    [["doctor"], [SQLITE]],
    [["ls"], [SQLITE]],
    [
      ["tree", "latest"],
      [PRICES, SQLITE],
    ],
    [["--head", "latest", "--json"], [SQLITE]],
    [["--head", "latest"], [SQLITE]],
    [["latest"], [PRICES, SQLITE]],
  ])("retinue %j loads %j if everything is indexed", async (args, expected) => {
    expect(await heavyOnesOf(args, { RETINUE_HOME: indexed })).toEqual(expected);
  });

  it("an import loads none", async () => {
    const file = join(
      HOME,
      ".claude/projects/-home-dev-trial-runs-c-nested-repo/cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9.jsonl",
    );
    expect(await heavyOnesOf(["import", file, "--quiet"], { RETINUE_HOME: join(scratch, "imports") })).toEqual([]);
  });

  it("a settings file needs YAML", async () => {
    const file = join(scratch, "settings.yaml");
    writeFileSync(file, "roots: {}\n");
    expect(await heavyOnesOf(["why", "latest"], { RETINUE_HOME: indexed, RETINUE_CONFIG: file })).toEqual([
      SQLITE,
      YAML,
    ]);
  });

  it("the first sync needs the price list, since it computes all costs", async () => {
    expect(await heavyOnesOf(["ls"], { RETINUE_HOME: join(scratch, "new") })).toEqual([PRICES, SQLITE]);
  });
});

let runs = 0;
async function heavyOnesOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string[]> {
  const file = join(scratch, `loaded-${runs++}`);
  const { code, stderr } = await retinueProcess(HOME, args, {
    NODE_OPTIONS: `--import=${NOTE_PACKAGES}`,
    NOTE_PACKAGES: file,
    ...env,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const packages = readFileSync(file, "utf8").split("\n");
  // Every run loads this package; a list without it means that the preload did not work.
  expect(packages).toContain("commander");
  return packages.filter((name) => HEAVY.has(name)).sort();
}

/** All modules that a file loads statically, directly and indirectly; without types and dynamic imports. */
function loadedBy(path: string): string[] {
  const loaded = new Set([path]);
  for (const file of loaded) {
    if (!file.startsWith("src/")) continue;
    const code = withoutComments(readFileSync(join(ROOT, file), "utf8"));
    for (const [, target = ""] of code.matchAll(/^(?:import|export) (?!type\b)[^;]*?from "([^"]+)";$/gm))
      loaded.add(target.startsWith(".") ? posix.join(posix.dirname(file), target) : target);
  }
  return [...loaded].sort();
}

/** The list of products, their manifests, and the files that these may load. */
function manifests(): string[] {
  const files = Object.values(products).flatMap(({ name }) =>
    ["manifest.ts", "hook-guard.ts", "hook-payload.ts", "statusline.ts"].map((file) => `src/providers/${name}/${file}`),
  );
  const shared = ["src/providers/index.ts", "src/providers/kit/hook-output.ts"];
  return [...files.filter((path) => existsSync(join(ROOT, path))), ...shared].sort();
}

describe("commands that agents wait for have their own entry point:", () => {
  it("the hook loads only these modules", () => {
    expect(loadedBy("src/app/hooks/hook.ts")).toEqual([
      "node:fs",
      "node:os",
      "node:path",
      "src/app/export/destinations/index.ts",
      "src/app/export/destinations/langsmith/index.ts",
      "src/app/export/destinations/manifest.ts",
      "src/app/export/destinations/otlp/index.ts",
      "src/app/guard/limits-file.ts",
      "src/app/guard/trouble.ts",
      "src/app/home.ts",
      "src/app/hooks/hook.ts",
      "src/app/instance-note.ts",
      "src/app/settings/settings-path.ts",
      "src/core/ports/manifest.ts",
      "src/core/ports/recording.ts",
      "src/core/ports/refusal-note.ts",
      "src/core/tools/json.ts",
      "src/core/tools/limits.ts",
      "src/core/tools/visible.ts",
      ...manifests(),
      "src/transports/bounded.ts",
      "src/transports/private.ts",
      "src/transports/recorder.ts",
      "src/transports/regular.ts",
      "src/transports/system/paths.ts",
      "src/transports/system/rename.ts",
      "src/transports/system/system.ts",
    ]);
  });

  it("the status line loads no package, no store, and of providers only the manifests", () => {
    const loaded = loadedBy("src/cli/statusline.ts");
    expect(loaded).toContain("src/cli/statusline.ts");
    expect(loaded.filter((path) => !path.startsWith("src/") && !path.startsWith("node:"))).toEqual([]);
    expect(loaded.filter((path) => /^src\/(stores|server|providers)\//.test(path))).toEqual([...manifests()]);
  });
});
