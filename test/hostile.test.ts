/** The real command line in bad homes: every command ends in order, says what it could not read, and prints nothing that a terminal would obey. */
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { seeded } from "../scripts/bench/random.ts";
import { type SpoilableHome, scratchFolder, spoilable } from "./bad-input/homes.ts";
import { MUTATIONS } from "./bad-input/mutations.ts";
import { agentWriter, mainWriter, metaFile, SESSION, THREAD_FILE, toolUse } from "./claude-records.ts";
import { retinue } from "./cli.ts";
import { filesBelow } from "./fixtures.ts";
import { needsPosix } from "./needs.ts";

const scratch = scratchFolder();
const COMMANDS = [["ls"], ["ls", "--json"], ["tree", "latest", "--all"], ["latest", "--full"], ["events", "latest", "--subtree"]];
/** Everything but line breaks and tabs. */
const OBEYED = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/u;

async function expectOrder({ home, data }: SpoilableHome, commands: readonly (readonly string[])[]) {
  for (const args of [...commands, ["doctor"]]) {
    const { code, stdout, stderr } = await retinue(home, args, { RETINUE_HOME: data });
    expect({ args, code, stderr: stderr.includes("bug") ? stderr : "" }).toEqual({ args, code: expect.toSatisfy((n) => n === 0 || n === 1), stderr: "" });
    // JSON is data, for programs that quote it themselves.
    if (!args.includes("--json") && args[0] !== "events") expect(stdout).not.toMatch(OBEYED);
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

  it("with pipes and circles in it does not keep anybody waiting", async (context) => {
    needsPosix("pipes among files")(context);
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
  const EVIL = "\u001b[31m\u001b]0;title\u0007\u009b2J\r\n\u202eevil\u0000";

  it("prints nothing that a terminal would obey, wherever its words end up", async () => {
    const home = spoilable(scratch(), "a-single");
    const id = `a0b1${EVIL}`;
    const call = "toolu_0123456789abcdef";
    const surroundings = { cwd: `/home/dev/${EVIL}`, gitBranch: EVIL, version: `2.1.200${EVIL}` };
    const main = mainWriter();
    const agent = agentWriter("a2c3");
    const lines = [
      main.user(`Begin ${EVIL}`, surroundings),
      { type: "custom-title", customTitle: EVIL, sessionId: SESSION },
      main.assistant([toolUse(call, "Agent", { prompt: EVIL, description: EVIL, subagent_type: EVIL, name: EVIL })], { model: EVIL, stop_reason: "tool_use" }),
      main.result(call, EVIL, { toolUseResult: { status: "completed", agentId: id, name: EVIL } }),
      main.result(call, EVIL, {}, true),
      { type: EVIL },
      main.assistant([toolUse(`toolu_${EVIL}0123456789`, EVIL, { path: EVIL })], { model: EVIL, stop_reason: "tool_use" }),
    ];
    home.put(THREAD_FILE, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    home.put(
      THREAD_FILE.replace(".jsonl", "/subagents/agent-a2c3.jsonl"),
      `${JSON.stringify(agent.assistant([toolUse(call, EVIL)], { stop_reason: "tool_use" }))}\n`,
    );
    home.put(metaFile("a2c3"), JSON.stringify({ agentType: EVIL, name: EVIL, description: EVIL, parentAgentId: id }));
    const uri = `claude://${SESSION}`;
    const { stdout } = await retinue(home.home, ["tree", uri, "--json"], { RETINUE_HOME: home.data });
    const [child] = (JSON.parse(stdout) as { children: { uri: string; agentId: string }[] }).children;
    expect(child?.agentId).toBe(id);
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
