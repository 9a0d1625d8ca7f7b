/**
 * The whole program with another platform configured. File names keep their POSIX form, since this machine has no
 * drives. What depends on the platform is tested: how paths are joined, compared and watched, which tools are called,
 * and where the home is.
 */
import { spawn } from "node:child_process";
import { appendFileSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { userHome } from "../../src/app/home.ts";
import { hookCommand, launcherText } from "../../src/app/hooks/launcher.ts";
import { isOwnHook } from "../../src/core/ports/provider.ts";
import { COMPILED, MAIN, retinue, retinueProcess } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const as = (platform: string) =>
  `--import data:text/javascript,Object.defineProperty(process,'platform',{value:'${platform}'})`;

function copyOf(provider: string, name: string): string {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-systems-"));
  onTestFinished(() => rmSync(scratch, { recursive: true }));
  cpSync(recordedHome(provider, name).home, join(scratch, "home"), { recursive: true });
  return join(scratch, "home");
}

describe.each(["win32", "darwin"])("on %s", (platform) => {
  it.each([
    ["claude", "c-nested"],
    ["codex", "v1-nested"],
    ["opencode", "nested"],
  ])("gives the same trees from files of %s", async (provider, name) => {
    const home = copyOf(provider, name);
    const args = ["tree", "latest", "--json"];
    const here = JSON.parse((await retinue(home, args)).stdout);
    expect(here.children.length).toBeGreaterThan(0);
    const there = await retinueProcess(home, args, { NODE_OPTIONS: as(platform) });
    expect(JSON.parse(there.stdout)).toEqual(here);
  });

  it("follows new records", async () => {
    const home = copyOf("claude", "c-nested");
    const transcript =
      readdirSync(home, { recursive: true, encoding: "utf8" }).find((path) => path.endsWith(`${THREAD}.jsonl`)) ?? "";
    // A trailing slash of a folder has no meaning.
    const env = {
      PATH: process.env.PATH ?? "",
      ...COMPILED,
      HOME: home,
      CLAUDE_CONFIG_DIR: `${home}/.claude/`,
      RETINUE_HOME: join(home, "data"),
      NODE_OPTIONS: as(platform),
    };
    const child = spawn(process.execPath, [MAIN, "events", THREAD, "--follow"], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let printed = "";
    child.stdout.on("data", (chunk) => (printed += String(chunk)));
    await expect.poll(() => printed, { timeout: 60_000 }).not.toBe("");
    const line = {
      type: "user",
      uuid: "11111111-2222-4333-8444-555555555555",
      sessionId: THREAD,
      timestamp: new Date().toISOString(),
      message: { role: "user", content: "One more." },
    };
    // Written again until it is seen: the history is printed before the watch begins.
    await expect
      .poll(
        () => {
          if (!printed.includes("One more.")) appendFileSync(join(home, transcript), `${JSON.stringify(line)}\r\n`);
          return printed;
        },
        { timeout: 60_000, interval: 500 },
      )
      .toContain("One more.");
  });
});

it("the GitHub workflow runs all tests on each system and Node.js version with read-only permissions", () => {
  const root = join(import.meta.dirname, "../..");
  const { on, permissions, jobs } = parse(readFileSync(join(root, ".github/workflows/ci.yml"), "utf8"));
  const { matrix } = jobs.test.strategy;
  const { engines } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(Object.keys(on)).toEqual(["push", "pull_request"]);
  expect(permissions).toEqual({ contents: "read" });
  expect(matrix.os).toEqual(["ubuntu-latest", "macos-latest", "windows-latest"]);
  expect(engines.node).toMatch(new RegExp(`^>=${matrix.node[0]}\\.`));
  const steps: { uses?: string; run?: string }[] = jobs.test.steps;
  expect(steps.flatMap(({ run }) => run ?? [])).toEqual([
    "npm ci",
    expect.stringContaining("rm -f node_modules/.bin/node "),
    "npm test",
  ]);
  for (const { uses } of steps) expect(uses ?? "actions/x@v1").toMatch(/^actions\/[\w-]+@v\d+$/);
});

it("lines may have Windows line endings", async () => {
  const home = copyOf("claude", "c-nested");
  const tree = async () => JSON.parse((await retinue(home, ["tree", "latest", "--json"])).stdout);
  const shape = (record: { agentId: string; status: string; usage: unknown; children: [] }): unknown => [
    record.agentId,
    record.status,
    record.usage,
    record.children.map(shape),
  ];
  const before = shape(await tree());
  for (const path of readdirSync(home, { recursive: true, encoding: "utf8" }).filter((one) => one.endsWith(".jsonl")))
    writeFileSync(join(home, path), readFileSync(join(home, path), "utf8").replaceAll("\n", "\r\n"));
  expect(shape(await tree())).toEqual(before);
});

it("the hook command works in the shells of each system", () => {
  expect(hookCommand("/home/dev/.local/share/retinue/hooks/retinue", "linux")).toBe(
    "/home/dev/.local/share/retinue/hooks/retinue hook",
  );
  expect(hookCommand("/Users/my name/retinue/hooks/retinue", "darwin")).toBe(
    '"/Users/my name/retinue/hooks/retinue" hook',
  );
  const onWindows = hookCommand("C:\\Users\\dev\\retinue\\hooks\\retinue.cmd", "win32");
  expect(onWindows).toBe('"C:/Users/dev/retinue/hooks/retinue.cmd" hook');
  expect(isOwnHook(onWindows)).toBe(true);
});

it("the launcher of hooks on Windows contains only ASCII, and no name of a user", () => {
  const installation = {
    node: "C:\\Users\\Jürgen\\node\\node.exe",
    folder: "C:\\Users\\Jürgen\\AppData\\Roaming\\npm\\node_modules\\retinue",
  };
  const text = launcherText(installation, { USERPROFILE: "C:\\Users\\Jürgen" }, "win32");
  expect(text).toMatch(/^[\r\n -~]*$/);
  expect(text.split("\r\n")).toEqual(
    expect.arrayContaining([
      String.raw`set "node=%USERPROFILE%\node\node.exe"`,
      String.raw`set "folder=%USERPROFILE%\AppData\Roaming\npm\node_modules\retinue"`,
      String.raw`"%node%" "%folder%\bin\retinue.js" %*`,
    ]),
  );
});

it("the home is the profile folder on Windows, even if a shell sets HOME", () => {
  const env = { HOME: "/c/Users/dev", USERPROFILE: "C:\\Users\\dev" };
  expect([userHome(env, "win32"), userHome(env, "linux"), userHome({ HOME: "/h" }, "win32")]).toEqual([
    "C:\\Users\\dev",
    "/c/Users/dev",
    "/h",
  ]);
});
