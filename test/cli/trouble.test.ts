/** Unreadable input of the shown threads is reported on stderr in one line, with the next step. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { logStory } from "../../src/app/export/log.ts";
import { readStory } from "../../src/app/export/story.ts";
import { readMachine } from "../../src/app/machine.ts";
import { retinue } from "../support/cli.ts";
import { homeEnv, recordedHome } from "../support/fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-trouble-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let homes = 0;
const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const L2 = "aee8a9e31692ee37b";

function nested() {
  const home = join(scratch, `home-${homes++}`);
  cpSync(recordedHome("claude", "c-nested").home, home, { recursive: true });
  const projects = join(home, ".claude/projects");
  return { home, folder: join(projects, readdirSync(projects)[0] ?? "") };
}

describe("broken lines", () => {
  const { home, folder } = nested();
  const file = join(folder, THREAD, "subagents", `agent-${L2}.jsonl`);
  appendFileSync(file, '{"broken\nnot json either\n');

  it.each([
    [["latest"]],
    [["--head", "latest"]],
    [["tree", "latest"]],
    [["tree", "latest", "--json"]],
    [["events", "latest"]],
    [["why", "latest"]],
    [["ls"]],
    [[`latest/${L2}`]],
  ])("of %j are reported in one line", async (args) => {
    const { code, stdout, stderr } = await retinue(home, args);
    expect({ code, lines: stderr.trimEnd().split("\n").length }).toEqual({ code: 0, lines: 1 });
    expect(stderr).toContain(`broken records skipped: 2 (${file}:`);
    expect(stderr).toContain("retinue doctor");
    expect(stdout).not.toContain("broken records");
    expect(await retinue(home, [...args, "--quiet"])).toMatchObject({ code: 0, stdout, stderr: "" });
  });

  it("are not reported for threads in other files", async () => {
    const other = recordedHome("claude", "a-single");
    cpSync(other.home, home, { recursive: true });
    expect((await retinue(home, ["tree", `claude://${other.threads[0]?.root}`])).stderr).toBe("");
  });
});

it("an unreadable agent file is reported with its thread", async () => {
  const { home, folder } = nested();
  writeFileSync(join(folder, THREAD, "subagents", "agent-a0000000000000000.jsonl"), "junk\n");
  expect((await retinue(home, ["tree", "latest"])).stderr).toContain("broken records skipped: 1 (");
});

describe("the debug log of tracing", () => {
  const logged = async (content: string) => {
    const { home, folder } = nested();
    const file = join(folder, THREAD, "subagents", `agent-${L2}.jsonl`);
    writeFileSync(file, content);
    const { library, forest } = await readMachine({ env: { ...homeEnv(home), RETINUE_HOME: join(home, "data") } });
    const lines: string[] = [];
    logStory(await readStory(library, forest, `claude:${THREAD}` as never), (line) => lines.push(line), library);
    return { file, lines, ofAgent: lines.filter((line) => line.startsWith(`claude://${THREAD}/${L2}: `)) };
  };

  it.each([
    ["empty", "", "is empty"],
    ["blank", "\n\n", "is empty"],
    ["invalid", "junk\n", "is invalid or incomplete: line-not-json"],
    ["cut off", '{"type":"user"', "is invalid or incomplete: line-unfinished"],
  ])("reports that an agent's file is %s", async (_, content, problem) => {
    const { file, lines, ofAgent } = await logged(content);
    expect(lines).toContain(`claude://${THREAD}: file ${file} ${problem}`);
    expect(
      ofAgent.some((line) => line.includes(`its file ${file} ${problem}`)) ||
        ofAgent.some((line) => line.includes(`read ${file}`)),
    ).toBe(true);
    expect(lines.filter((line) => line.includes("no transcript found"))).toEqual([]);
  });
});

describe("a database that could not be read", () => {
  const { home } = nested();
  const database = join(home, ".local/share/opencode/opencode.db");
  mkdirSync(join(database, ".."), { recursive: true });
  writeFileSync(database, "this is no database at all, but long enough to be taken for one".repeat(40));

  it("is named if a thread is not found", async () => {
    const { code, stderr } = await retinue(home, ["opencode://ses_e1f1a9b79ffeA4NOX28vWa3bzR"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`could not be read: ${database}`) });
    expect(stderr).toContain("next: retinue doctor");
  });

  it("is reported by ls, but not with a thread of another product", async () => {
    expect((await retinue(home, ["ls"])).stderr).toContain(`could not read ${database}`);
    expect((await retinue(home, ["tree", `claude://${THREAD}`])).stderr).toBe("");
  });
});
