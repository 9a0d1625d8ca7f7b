/** `retinue skill` and `retinue self`: what they print and write without an agent. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

  it("that the user edited is kept, unless it is replaced by force", async () => {
    const home = emptyHome();
    const install = (...more: string[]) => retinue(home, ["skill", "claude", "--install", ...more]);
    const { stdout: printed } = await retinue(home, ["skill"]);
    const { path } = JSON.parse((await install("--yes", "--json")).stdout) as { path: string };
    const edited = `${printed}- Never spawn more than two agents.\n`;
    writeFileSync(path, edited);
    const kept = await install("--yes");
    expect([kept.code, readFileSync(path, "utf8")]).toEqual([1, edited]);
    expect(kept.stdout).toContain("- - Never spawn more than two agents.");
    expect(kept.stderr).toMatch(/was edited, so it was not replaced[\s\S]*skill claude --install --force/);
    expect(JSON.parse((await install("--yes", "--json")).stdout)).toMatchObject({ edited: true, done: false });
    expect((await install("--force")).code).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(printed);
  });

  it("of an earlier version is replaced, if it was not edited", async () => {
    const home = emptyHome();
    const env = { RETINUE_HOME: join(home, "data") };
    const install = (...more: string[]) => retinue(home, ["skill", "claude", "--install", "--yes", ...more], env);
    const { path } = JSON.parse((await install("--json")).stdout) as { path: string };
    const { stdout: printed } = await retinue(home, ["skill"]);
    for (const file of [path, join(home, "data/skills/claude.md")]) writeFileSync(file, "an earlier skill\n");
    expect((await install()).code).toBe(0);
    expect(readFileSync(path, "utf8")).toBe(printed);
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
