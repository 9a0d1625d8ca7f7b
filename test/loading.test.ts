/** What a command loads before it can begin. Modules are counted, not milliseconds. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { retinue } from "./cli.ts";
import { recordedHome } from "./fixtures.ts";

const NOTE_PACKAGES = pathToFileURL(join(import.meta.dirname, "note-packages.ts")).href;
const HOME = recordedHome("claude", "c-nested").home;
const [PRICES, YAML, SQLITE] = ["@pydantic/genai-prices", "yaml", "node:sqlite"];
const HEAVY = new Set([PRICES, YAML, SQLITE]);

const scratch = mkdtempSync(join(tmpdir(), "retinue-loading-"));
afterAll(() => rmSync(scratch, { recursive: true }));

describe("of the packages that are slow to load,", () => {
  const indexed = join(scratch, "indexed");
  beforeAll(async () => {
    await retinue(HOME, ["ls"], { RETINUE_HOME: indexed });
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
    [
      ["--head", "latest"],
      [SQLITE, YAML],
    ],
    [["latest"], [PRICES, SQLITE, YAML]],
  ])("retinue %j loads %j where everything is indexed", async (args, expected) => {
    expect(await heavyOnesOf(args, { RETINUE_HOME: indexed })).toEqual(expected);
  });

  it("an import loads none", async () => {
    const file = join(HOME, ".claude/projects/-home-dev-trial-runs-c-nested-repo/cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9.jsonl");
    expect(await heavyOnesOf(["import", file, "--quiet"], { RETINUE_HOME: join(scratch, "imports") })).toEqual([]);
  });

  it("a settings file needs YAML", async () => {
    const file = join(scratch, "settings.yaml");
    writeFileSync(file, "roots: {}\n");
    expect(await heavyOnesOf(["why", "latest"], { RETINUE_HOME: indexed, RETINUE_CONFIG: file })).toEqual([SQLITE, YAML]);
  });

  it("a first look needs the prices, since it works out what everything cost", async () => {
    expect(await heavyOnesOf(["ls"], { RETINUE_HOME: join(scratch, "new") })).toEqual([PRICES, SQLITE]);
  });
});

let runs = 0;
async function heavyOnesOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string[]> {
  const file = join(scratch, `loaded-${runs++}`);
  const { code, stderr } = await retinue(HOME, args, { NODE_OPTIONS: `--import=${NOTE_PACKAGES}`, NOTE_PACKAGES: file, ...env });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const packages = readFileSync(file, "utf8").split("\n");
  // Every run needs this one: a list without it means that nobody took notes.
  expect(packages).toContain("commander");
  return packages.filter((name) => HEAVY.has(name)).sort();
}
