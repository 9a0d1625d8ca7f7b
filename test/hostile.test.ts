/** The real command line in bad homes: every command ends in order, says what it could not read, and prints nothing that a terminal would obey. */
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { seeded } from "../scripts/bench/random.ts";
import { type SpoilableHome, scratchFolder, spoilable } from "./bad-input/homes.ts";
import { hostileHome, OBEYED } from "./bad-input/hostile-home.ts";
import { MUTATIONS } from "./bad-input/mutations.ts";
import { SESSION } from "./claude-records.ts";
import { retinue } from "./cli.ts";
import { filesBelow } from "./fixtures.ts";

const scratch = scratchFolder();
const COMMANDS = [["ls"], ["ls", "--json"], ["tree", "latest", "--all"], ["latest", "--full"], ["events", "latest", "--subtree"]];
async function expectOrder({ home, data }: SpoilableHome, commands: readonly (readonly string[])[]) {
  for (const args of [...commands, ["doctor"]]) {
    const { code, stdout, stderr } = await retinue(home, args, { RETINUE_HOME: data });
    expect({ args, code, stderr: stderr.includes("bug") ? stderr : "" }).toEqual({ args, code: expect.toSatisfy((n) => n === 0 || n === 1), stderr: "" });
    expect(stdout).not.toMatch(OBEYED);
    expect(stderr).not.toMatch(OBEYED);
  }
}

describe("a spoilt home", () => {
  const chosen = MUTATIONS.filter(({ name }) => /cut off the end|that are junk|zeroes|pretty-printed lines/.test(name));

  it.each(chosen)("with $name is shown all the same, and told by doctor", async ({ change, files }) => {
    const home = spoilable(scratch(), "c3-nested-parallel");
    const random = seeded(1);
    for (const path of filesBelow(home.at("projects")).filter((name) => files.test(name)))
      writeFileSync(home.at(`projects/${path}`), change(readFileSync(home.at(`projects/${path}`)), random));
    await expectOrder(home, COMMANDS);
    const { stdout } = await retinue(home.home, ["doctor"], { RETINUE_HOME: home.data });
    expect(stdout).toMatch(/(error|data-loss|info) +[a-z0-9-]+ ×[1-9]/);
  });

  it("with pipes and circles in it does not keep anybody waiting", async () => {
    const home = spoilable(scratch(), "a-single");
    home.put("projects/p/x.txt", "");
    execFileSync(
      "mkfifo",
      [home.at(`projects/p/${SESSION}.jsonl`), home.at("sessions/1.json")].filter((path) => !path.includes("sessions")),
    );
    symlinkSync(".", home.at("projects/p/circle"));
    await expectOrder(home, [["ls"], ["tree", "latest"]]);
    const { stdout } = await retinue(home.home, ["doctor"], { RETINUE_HOME: home.data });
    expect(stdout).toContain("it is a pipe, not a file");
    expect(stdout).toContain("link-not-followed ×1");
  });
});

describe("a hostile transcript", () => {
  it("prints nothing that a terminal would obey, wherever its words end up", async () => {
    const home = hostileHome(scratch());
    const { uri, agentId } = home;
    const { stdout } = await retinue(home.home, ["tree", uri, "--json"], { RETINUE_HOME: home.data });
    const [child] = (JSON.parse(stdout) as { children: { uri: string; agentId: string }[] }).children;
    expect(child?.agentId).toBe(agentId);
    const named = [uri, child?.uri ?? ""].flatMap((one) => [
      ["tree", one],
      [one, "--full"],
      ["-I", one],
      ["why", one],
      ["events", one],
    ]);
    await expectOrder(home, [["ls"], ...named, ["tree", `${uri}/nobody`]]);
    expect((await retinue(home.home, ["why", child?.uri ?? ""], { RETINUE_HOME: home.data })).code).toBe(0);
  });
});
