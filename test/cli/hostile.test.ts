/**
 * The command line over damaged homes: every command exits cleanly, reports what it could not read, and prints no
 * control sequences.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { marked } from "marked";
import { describe, expect, it } from "vitest";
import { seeded } from "../../scripts/bench/random.ts";
import { type SpoilableHome, scratchFolder, spoilable } from "../support/bad-input/homes.ts";
import { hostileHome, OBEYED } from "../support/bad-input/hostile-home.ts";
import { MUTATIONS } from "../support/bad-input/mutations.ts";
import { mainWriter, SESSION, THREAD_FILE, text, toolUse } from "../support/claude-records.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { filesBelow } from "../support/fixtures.ts";
import { needsPosix } from "../support/needs.ts";

const scratch = scratchFolder();
const COMMANDS = [
  ["ls"],
  ["ls", "--json"],
  ["tree", "latest", "--all"],
  ["latest", "--full"],
  ["events", "latest", "--subtree"],
];
async function expectCleanExits({ home, data }: SpoilableHome, commands: readonly (readonly string[])[]) {
  for (const args of [...commands, ["doctor"]]) {
    const { code, stdout, stderr } = await retinue(home, args, { RETINUE_HOME: data });
    expect({ args, code, stderr: stderr.includes("bug") ? stderr : "" }).toEqual({
      args,
      code: expect.toSatisfy((n) => n === 0 || n === 1),
      stderr: "",
    });
    expect(stdout).not.toMatch(OBEYED);
    expect(stderr).not.toMatch(OBEYED);
  }
}

describe("a damaged home", () => {
  const chosen = MUTATIONS.filter(({ name }) => /cut off the end|that are junk|zeroes|pretty-printed lines/.test(name));

  it.each(chosen)("with $name is still shown, and reported by doctor", async ({ change, files }) => {
    const home = spoilable(scratch(), "c3-nested-parallel");
    const random = seeded(1);
    for (const path of filesBelow(home.at("projects")).filter((name) => files.test(name)))
      writeFileSync(home.at(`projects/${path}`), change(readFileSync(home.at(`projects/${path}`)), random));
    await expectCleanExits(home, COMMANDS);
    expect((await retinueJson(home.home, ["ls"], { RETINUE_HOME: home.data })) as unknown[]).toHaveLength(1);
    const { stdout } = await retinue(home.home, ["doctor"], { RETINUE_HOME: home.data });
    expect(stdout).toMatch(/(error|data-loss|info) +[a-z0-9-]+ ×[1-9]/);
  });

  it("with pipes and cycles does not block", async (context) => {
    needsPosix("pipes among files")(context);
    const home = spoilable(scratch(), "a-single");
    home.put("projects/p/x.txt", "");
    execFileSync("mkfifo", [home.at(`projects/p/${SESSION}.jsonl`)]);
    symlinkSync(".", home.at("projects/p/circle"));
    await expectCleanExits(home, [["ls"], ["tree", "latest"]]);
    const { stdout } = await retinue(home.home, ["doctor"], { RETINUE_HOME: home.data });
    expect(stdout).toContain("it is a pipe, not a file");
    expect(stdout).toContain("link-not-followed ×1");
  });
});

describe("a hostile transcript", () => {
  it("becomes Markdown without active content, even in a viewer that allows raw HTML", async () => {
    const home = spoilable(scratch(), "a-single");
    const uri = `claude://${SESSION}`;
    const [main, call] = [mainWriter(), "toolu_0123456789abcdef"];
    const markup = [
      '<script>alert(1)</script><img src="http://beacon.invalid" onerror="alert(2)"><svg onload="alert(3)"></svg>',
      "![pixel](http://beacon.invalid) [click](javascript:alert(4)) <javascript:alert(5)> [data](data:text/html,x) [ref][bad]\n\n[bad]: javascript:alert(6)",
      "\\<b onclick=alert(7)> \\![x](http://beacon.invalid) `<i onclick=alert(8)>` [a\\](javascript:alert(9))",
      "```\n<iframe></iframe>\n```\n~~~\n````\n<object></object>",
    ].join("\n\n");
    const lines = [
      main.user(markup, { cwd: `/home/${markup}`, gitBranch: markup }),
      main.assistant([text(markup), toolUse(call, markup, { path: markup })], {
        model: markup,
        stop_reason: "tool_use",
      }),
      main.result(call, markup, {}, true),
      main.assistant(
        [toolUse("toolu_1123456789abcdef", "Agent", { prompt: markup, description: markup, subagent_type: markup })],
        { stop_reason: "tool_use" },
      ),
    ];
    home.put(THREAD_FILE, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    for (const args of [[uri, "--full"], [uri], ["export", "markdown", uri]]) {
      const { stdout } = await retinue(home.home, args, { RETINUE_HOME: home.data });
      const html = await marked.parse(stdout.replace(/^---\n.*?\n---\n/s, ""));
      const tags = [...html.matchAll(/<\/?([a-z][a-z0-9-]*)/gi)].map(([, tag = ""]) => tag.toLowerCase());
      expect(tags.filter((tag) => !/^(?:h\d|p|ul|ol|li|blockquote|pre|code|strong|em|hr|br|del|a)$/.test(tag))).toEqual(
        [],
      );
      expect([...html.matchAll(/href="([^"]*)"/g)].filter(([, href = ""]) => !/^https?:/.test(href))).toEqual([]);
      expect(html).toContain("alert(1)");
    }
  });

  it("prints no terminal control sequences in any command", async () => {
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
    await expectCleanExits(home, [["ls"], ...named, ["tree", `${uri}/nobody`]]);
    expect((await retinue(home.home, ["why", child?.uri ?? ""], { RETINUE_HOME: home.data })).code).toBe(0);
  });
});
