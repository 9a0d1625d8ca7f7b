/** The settings file on the command line: the effect of each setting, and errors. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import { retinue } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const NESTED = recordedHome("claude", "c-nested").home;
/** The model of one of its agents is on no public price list. */
const UNPRICED = recordedHome("claude", "i-custom").home;
/** Killed, by a version that writes no process file. */
const KILLED = recordedHome("claude", "v2.0.65-killed").home;

const scratch = mkdtempSync(join(tmpdir(), "retinue-settings-"));
afterAll(() => rmSync(scratch, { recursive: true }));

let files = 0;
function settings(text: string): { RETINUE_CONFIG: string } {
  const path = join(scratch, `settings-${files++}.yaml`);
  writeFileSync(path, text);
  return { RETINUE_CONFIG: path };
}

async function json(home: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<unknown> {
  const { code, stdout, stderr } = await retinue(home, [...args, "--json"], env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("roots", () => {
  it("override the environment", async () => {
    const env = {
      ...settings(`roots:\n  claude: ${NESTED}/.claude, ${KILLED}/.claude\n`),
      CLAUDE_CONFIG_DIR: `${UNPRICED}/.claude`,
    };
    const found = (await json(scratch, ["ls"], env)) as AgentRecord[];
    const wanted = [NESTED, KILLED].flatMap((home) => [
      ...new Set(found.filter((r) => r.records[0]?.path.startsWith(home)).map(() => home)),
    ]);
    expect({ wanted, others: found.filter((r) => r.records[0]?.path.startsWith(UNPRICED)) }).toEqual({
      wanted: [NESTED, KILLED],
      others: [],
    });
  });
  it("expand ~ to the home folder", async () => {
    const found = (await json(NESTED, ["ls"], settings("roots:\n  claude:\n    - ~/.claude\n"))) as AgentRecord[];
    expect(found).toHaveLength(1);
  });
  it("are named in the message if nothing was found", async () => {
    const { code, stderr } = await retinue(NESTED, ["ls"], settings("roots:\n  claude: /nowhere/at/all\n"));
    expect({ code, named: stderr.includes("searched: /nowhere/at/all (not found)") }).toEqual({ code: 1, named: true });
  });
});

describe("stale_after", () => {
  it("sets how long an inactive agent still counts as running", async () => {
    const statusBy = async (text: string) =>
      ((await json(KILLED, ["tree", "latest"], settings(text))) as AgentTree).status;
    expect([await statusBy(""), await statusBy("stale_after: 50000w\n")]).toEqual(["shutdown", "running"]);
  });
});

describe("prices", () => {
  const costs = async (text: string) => {
    const root = (await json(UNPRICED, ["tree", "latest"], settings(text))) as AgentTree;
    const agent = root.children.find((c) => c.model.includes("claude-haiku-5-5"));
    return { agent: agent?.usage.own, all: root.usage.subtree.costUsd, root: root.usage.own.costUsd };
  };
  it("define costs of models that are on no public list", async () => {
    const price = { input: 1, output: 2, cache_read: 4, cache_write: 8, cache_write_1h: 16 };
    const { agent, all } = await costs(`prices:\n  claude-haiku-5-5: ${JSON.stringify(price)}\n`);
    const [input = 0, output = 0, read = 0, write = 0, long = 0] = [
      agent?.inputTokens,
      agent?.outputTokens,
      agent?.cacheReadTokens,
      agent?.cacheWriteTokens,
      agent?.cacheWrite1hTokens,
    ];
    expect(agent?.costUsd).toBeCloseTo((input + 2 * output + 4 * read + 8 * (write - long) + 16 * long) / 1e6, 12);
    expect(agent?.costUsd).toBeGreaterThan(0);
    expect(all).toBeGreaterThan(agent?.costUsd ?? 0);
  });
  it("override the public list", async () => {
    const [listed, own] = [await costs(""), await costs("prices:\n  claude-opus-5-5: { input: 0, output: 0 }\n")];
    expect(listed.root).toBeGreaterThan(0);
    expect(own.root).toBe(0);
  });
});

describe("a changed setting", () => {
  it("updates earlier results without reading a transcript again", async () => {
    const data = { RETINUE_HOME: join(scratch, "index") };
    const seen = async (home: string, text: string) => {
      const { stdout, stderr } = await retinue(home, ["ls", "--json", "--debug"], { ...data, ...settings(text) });
      const [thread] = JSON.parse(stdout) as AgentRecord[];
      return {
        cost: thread?.usage.own.costUsd,
        status: thread?.status,
        opened: Number(/opened (\d+) files/.exec(stderr)?.[1]),
      };
    };
    const free = "prices:\n  claude-opus-5-5: { input: 0, output: 0 }\n";
    const [first, own, again] = [
      await seen(UNPRICED, ""),
      await seen(UNPRICED, free),
      await seen(UNPRICED, "stale_after: 10m\n"),
    ];
    expect(first.opened).toBeGreaterThan(0);
    expect(first.cost).toBeGreaterThan(0);
    expect([own, again]).toEqual([
      { ...first, cost: 0, opened: 0 },
      { ...first, opened: 0 },
    ]);
    expect([
      (await seen(KILLED, "")).status,
      (await seen(KILLED, "stale_after: 50000w\n")).status,
      (await seen(KILLED, "")).status,
    ]).toEqual(["shutdown", "running", "shutdown"]);
  });
});

describe("an invalid settings file", () => {
  it("exits with 2 and names the file, the line, the error and a valid value", async () => {
    const env = settings("# mine\nstale_afer: 10m\n");
    const { code, stdout, stderr } = await retinue(NESTED, ["ls"], env);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: `retinue: ${env.RETINUE_CONFIG}:2: unknown key stale_afer\n  did you mean: stale_after\n`,
    });
  });
  it("reports all errors at once", async () => {
    const { code, stderr } = await retinue(NESTED, ["ls"], settings("stale_after: soon\nroots:\n  cloud: /a\n"));
    expect({ code, places: [...stderr.matchAll(/yaml:(\d+):/g)].map(([, line]) => line) }).toEqual({
      code: 2,
      places: ["1", "3"],
    });
  });
  it("that is not YAML is reported with the line", async () => {
    const { code, stderr } = await retinue(NESTED, ["ls"], settings("roots:\n  claude: [\n"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/yaml:\d+: not valid YAML: .*\n {2}write key: value lines/);
  });
  it("that cannot be read has its own error", async () => {
    const folder = join(scratch, "folder.yaml");
    mkdirSync(folder);
    const { code, stderr } = await retinue(NESTED, ["ls"], { RETINUE_CONFIG: folder });
    expect({ code, reported: stderr.includes(`cannot read the settings in ${folder}`) }).toEqual({
      code: 1,
      reported: true,
    });
  });
  it.each([["--help"], ["--version"], ["ls", "--help"]])("does not affect %s %s", async (...args) => {
    expect((await retinue(NESTED, args, settings("nonsense: 1\n"))).code).toBe(0);
  });
});

describe("the settings file", () => {
  it("is found in XDG_CONFIG_HOME and below the home", async () => {
    for (const [folder, env] of [
      ["xdg", { XDG_CONFIG_HOME: join(scratch, "xdg") }],
      ["home/.config", {}],
    ] as const) {
      mkdirSync(join(scratch, folder, "retinue"), { recursive: true });
      writeFileSync(join(scratch, folder, "retinue", "config.yaml"), "nonsense: 1\n");
      expect(await retinue(join(scratch, "home"), ["ls"], env)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`${folder}/retinue/config.yaml:1:`),
      });
    }
  });
  it("may be missing", async () => {
    expect((await retinue(NESTED, ["ls"], { RETINUE_CONFIG: join(scratch, "none.yaml") })).code).toBe(0);
  });
  it("is listed by doctor with its settings", async () => {
    const env = settings("stale_after: 1h\nrelay:\n  single_card_guess: true\n");
    const { stdout } = await retinue(NESTED, ["doctor"], env);
    expect(stdout).toContain(`Settings\n  ${env.RETINUE_CONFIG}  stale_after, relay.single_card_guess\n`);
    expect(((await json(NESTED, ["doctor"], env)) as { settings: unknown }).settings).toEqual({
      path: env.RETINUE_CONFIG,
      exists: true,
      set: ["stale_after", "relay.single_card_guess"],
    });
    expect((await retinue(NESTED, ["doctor"])).stdout).toContain("config.yaml  not found; using defaults");
  });
});
