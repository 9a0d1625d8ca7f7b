/** Files of retinue and of products, replaced by something that blocks, never ends or is not a file. */
import { execFileSync, spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MAX_SETTINGS } from "../../src/core/tools/limits.ts";
import { MAIN, retinue } from "../support/cli.ts";
import { homeEnv, recordedHome } from "../support/fixtures.ts";
import { needsPosix } from "../support/needs.ts";

const SESSION = "11111111-2222-4333-8444-555555555555";
const scratch = mkdtempSync(join(tmpdir(), "retinue-own-files-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
beforeEach(needsPosix("pipes in folders"));

const KINDS = {
  pipe: (path: string) => void execFileSync("mkfifo", [path]),
  folder: (path: string) => void mkdirSync(join(path, "inside"), { recursive: true }),
  device: (path: string) => symlinkSync("/dev/zero", path),
  "huge file": (path: string) => {
    writeFileSync(path, "");
    truncateSync(path, 3 * 2 ** 30);
  },
};

describe.each(Object.entries(KINDS))("a %s", (kind, plant) => {
  const home = join(scratch, kind, "home");
  const own = join(scratch, kind, "own");
  const reported = kind === "huge file" ? `the limit is ${MAX_SETTINGS}` : `is a ${kind}, not a file`;
  const config = join(home, "config.yaml");
  const put = (path: string) => {
    mkdirSync(dirname(path), { recursive: true });
    plant(path);
  };
  const run = (args: readonly string[], env = {}) => retinue(home, args, { RETINUE_HOME: own, ...env });

  beforeAll(() => {
    if (process.platform === "win32") return;
    cpSync(recordedHome("claude", "c-nested").home, home, { recursive: true });
    put(config);
    for (const name of ["server.json", "token", "index.sqlite", "kept.sqlite", "hooks/claude.json"])
      put(join(own, name));
    put(join(own, "recordings/claude/roots"));
    if (kind !== "huge file") put(join(own, "recordings/claude/hooks", `${SESSION}.jsonl`));
  });

  it("in place of the settings is reported", async () => {
    const { code, stderr } = await run(["ls"], { RETINUE_CONFIG: config });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("cannot read the settings") });
    expect(stderr).toContain(reported);
  });

  it("in place of a hook's recording and its list of roots does not stop the agent", async () => {
    const child = spawn(process.execPath, [MAIN, "hook"], {
      env: { PATH: process.env.PATH, ...homeEnv(home), RETINUE_HOME: own },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.end(
      JSON.stringify({
        session_id: SESSION,
        hook_event_name: "SessionStart",
        transcript_path: join(scratch, "elsewhere/x.jsonl"),
        cwd: scratch,
      }),
    );
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
  });

  it("in place of the databases, the server's note and recordings does not stop ls", async () => {
    const { code, stdout, stderr } = await run(["ls"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("index") });
    // The hook may already have moved a damaged one.
    expect(stderr + readdirSync(own).join()).toMatch(kind === "huge file" ? /kept\.sqlite\.damaged/ : /read .*kept/);
    expect(stdout).toContain("claude://");
  });

  it("in place of the token is replaced or reported", async () => {
    const { code, stdout, stderr } = await run(["token", "show"]);
    // Only a folder has contents that replacing it would lose.
    if (kind === "folder") expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("token") });
    else expect({ code, stdout }).toEqual({ code: 0, stdout: (await run(["token", "show"])).stdout });
    expect(readdirSync(own).filter((name) => /^token\./.test(name))).toEqual([]);
  });

  it("in place of a product's settings is reported and not changed", async () => {
    const settings = join(home, ".claude/settings.json");
    rmSync(settings, { force: true });
    writeFileSync(settings, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x retinue.js hook"}]}]}}`);
    const undone = await run(["hooks", "uninstall", "claude", "--yes"]);
    rmSync(settings, { force: true });
    put(settings);
    const { code, stderr } = await run(["hooks", "install", "claude", "--yes"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("cannot be read") });
    expect(stderr).toContain(reported);
    expect(undone.stderr + undone.stdout).not.toContain("bug");
  });
});

it("a transcript that became a pipe does not stop doctor and the tree", async () => {
  const home = join(scratch, "replaced/home");
  const env = { RETINUE_HOME: join(scratch, "replaced/own") };
  cpSync(recordedHome("claude", "c-nested").home, home, { recursive: true });
  const before = await retinue(home, ["ls"], env);
  const folder = join(home, ".claude/projects");
  const transcript = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((name) => name.endsWith(".jsonl"));
  rmSync(join(folder, transcript ?? ""));
  KINDS.pipe(join(folder, transcript ?? ""));
  for (const command of [["doctor"], ["tree", "latest"], ["events", "latest"], ["search", "deeper"]])
    expect([command, (await retinue(home, command, env)).code]).toEqual([command, expect.any(Number)]);
  expect(before.code).toBe(0);
});
