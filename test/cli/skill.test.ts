/** `retinue skill` and `retinue self`: what they print and write without an agent. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { SKILLED } from "../../src/app/skill.ts";
import { retinue } from "../support/cli.ts";

function emptyHome(): string {
  const home = mkdtempSync(join(tmpdir(), "retinue-skill-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

describe("skill", () => {
  it("prints a skill with name and description", async () => {
    const { code, stdout } = await retinue(emptyHome(), ["skill"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^---\nname: retinue\ndescription: .{20,1024}\n---\n/);
    expect(stdout).toContain("retinue self");
  });

  it("is installed for every product that reads skills, once, and only if confirmed", async () => {
    const home = emptyHome();
    const printed = (await retinue(home, ["skill"])).stdout;
    expect(SKILLED).toEqual(expect.arrayContaining(["claude", "codex", "opencode"]));
    for (const provider of SKILLED) {
      expect((await retinue(home, ["skill", provider, "--install"])).code).toBe(2);
      const { stdout } = await retinue(home, ["skill", provider, "--install", "--yes", "--json"]);
      const { path, done } = JSON.parse(stdout) as { path: string; done: boolean };
      expect([done, path.startsWith(home), path.endsWith("/retinue/SKILL.md")]).toEqual([true, true, true]);
      expect(readFileSync(path, "utf8")).toBe(printed);
      const twice = await retinue(home, ["skill", provider, "--install", "--yes"]);
      expect(twice.stderr).toContain("already installed");
    }
  });

  it("is installed only for a named product", async () => {
    const { code, stderr } = await retinue(emptyHome(), ["skill", "--install"]);
    expect([code, stderr.includes("needs a product")]).toEqual([2, true]);
  });
});

describe("self", () => {
  it("says that no agent runs it, even if its environment names a thread that no record names", async () => {
    const CODEX_THREAD_ID = "01a1e4c3-9ab0-70d3-a253-b9b470b937ad";
    // Both wait for a record that does not come.
    const runs = await Promise.all([{}, { CODEX_THREAD_ID }].map((env) => retinue(emptyHome(), ["self"], env)));
    for (const { code, stderr } of runs)
      expect([code, stderr.includes("no agent runs this command")]).toEqual([1, true]);
  });
});
