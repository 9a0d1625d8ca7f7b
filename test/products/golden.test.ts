/**
 * The text of `retinue tree`, piped, compared with fixtures/<provider>/<case>/tree.txt. `UPDATE=1 npx vitest run
 * test/products/golden.test.ts` rewrites the files; review the difference before you commit it.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { retinue } from "../support/cli.ts";
import { FIXTURES, recordedHome } from "../support/fixtures.ts";

/**
 * Each shows something that the others do not. None contains a process file, since the meaning of a pid differs between
 * machines.
 */
const TELLING = {
  claude: [
    "a-single",
    "c3-nested-parallel",
    "d-background",
    "e-fail",
    "e2-bgfail",
    "f3-sigterm",
    "g-sameprompt",
    "h-resume",
    "i-custom",
    "j2-agentcompact",
    "m3-teams-tty",
    "n-workflow",
    "o-fork",
    "p-promote",
    "v1.0.60",
    "v2.0.60",
    "v2.1.50",
    "v2.1.220",
  ],
  codex: [
    "any-fork@0.99.0",
    "any-fork@0.107.0",
    "any-v2@0.121.0",
    "review",
    "v1-codemode",
    "v1-fail",
    "v1-lifecycle",
    "v1-nested",
    "v1-parallel",
    "v2-archive-fork",
    "v2-encrypted",
    "v2-fail",
    "v2-killresume",
    "v2-nested",
    "v2-packed",
  ],
  opencode: [
    "background",
    "continue-child",
    "deleted-child",
    "fail-spawn",
    "nested",
    "permission",
    "subtask",
    "v1.0.185-tree",
  ],
  copilot: ["nested", "compact", "v1.0.64"],
  gemini: ["parallel", "fail", "v0.36"],
  pi: ["parallel", "nested", "fork", "branches", "nico", "tintin-parallel"],
} as const;

const cases = Object.entries(TELLING).flatMap(([provider, names]) => names.map((name) => ({ provider, name })));

describe.concurrent("retinue tree", () => {
  it.each(cases)("$provider $name", async ({ provider, name }) => {
    const shown = await allTrees(provider, name);
    const file = join(FIXTURES, provider, name, "tree.txt");
    if (process.env.UPDATE === "1") writeFileSync(file, shown);
    expect(existsSync(file), `${file} is missing: UPDATE=1 writes it`).toBe(true);
    expect(shown).toBe(readFileSync(file, "utf8"));
  });
});

async function allTrees(provider: string, name: string): Promise<string> {
  const { home, threads } = recordedHome(provider, name);
  const trees: string[] = [];
  for (const { root } of threads) {
    const { code, stdout, stderr } = await retinue(home, ["tree", root]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    trees.push(`$ retinue tree ${root}\n${stdout}`);
  }
  return trees.join("\n");
}
