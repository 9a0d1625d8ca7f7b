/** The program that hooks call: it starts retinue with a Node.js that exists, and does nothing if there is none. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { hookProblems } from "../../src/app/guard/examine.ts";
import { launcherPath, writeLauncher } from "../../src/app/hooks/launcher.ts";
import { productVersion } from "../../src/app/version.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import { retinue } from "../support/cli.ts";
import { needsPosix } from "../support/needs.ts";

const scratch = scratchFolder();
const PACKAGE = join(import.meta.dirname, "../..");
const SESSION = "b7ee73a5-27dd-4edd-9153-75b0a97a7d14";
const PAYLOAD = JSON.stringify({ session_id: SESSION, hook_event_name: "UserPromptSubmit", prompt: "Hello" });

beforeEach((context) => needsPosix("shell scripts")(context));

/** A home, and a folder with a version of Node.js and perhaps the package, as version managers and npm lay them out. */
function machine() {
  const home = mkdtempSync(join(scratch(), "home-"));
  const env = { HOME: home, RETINUE_HOME: join(home, "it's data"), PATH: "/nowhere" };
  const withNode = (version: string) => {
    const bin = join(home, "versions", version, "bin");
    mkdirSync(bin, { recursive: true });
    symlinkSync(process.execPath, join(bin, "node"));
    return join(bin, "node");
  };
  const withPackage = (version: string) => {
    const folder = join(home, "versions", version, "lib/node_modules/retinue");
    mkdirSync(dirname(folder), { recursive: true });
    symlinkSync(PACKAGE, folder);
    return folder;
  };
  const called = (args: readonly string[] = ["hook"], more: Readonly<Record<string, string>> = {}) => {
    const { status, stdout, stderr } = spawnSync(launcherPath(env), args, {
      env: { ...env, ...more },
      input: PAYLOAD,
      encoding: "utf8",
    });
    return { status, output: stdout + stderr };
  };
  const isRecorded = () => {
    const recording = join(env.RETINUE_HOME, "recordings/claude/hooks", `${SESSION}.jsonl`);
    const lines = spawnSync("cat", [recording], { encoding: "utf8" }).stdout.trim().split("\n");
    rmSync(recording, { force: true });
    return lines.filter((line) => line.includes("Hello")).length === 1;
  };
  return { home, env, withNode, withPackage, called, isRecorded };
}

const SILENT = { status: 0, output: "" };

describe("the launcher of hooks", () => {
  it("starts the Node.js and the package that were installed", () => {
    const { env, withNode, called, isRecorded } = machine();
    writeLauncher(env, { node: withNode("24"), folder: PACKAGE });
    expect([called(), isRecorded()]).toEqual([SILENT, true]);
    expect(called(["--version"]).output.trim()).toBe(productVersion());
    expect(called(["nonsense"]).status).toBe(2);
  });

  it("finds another version beside a Node.js that was removed, with its own package", () => {
    const { home, env, withNode, withPackage, called, isRecorded } = machine();
    writeLauncher(env, { node: withNode("22"), folder: withPackage("22") });
    rmSync(join(home, "versions/22"), { recursive: true });
    expect([called(), isRecorded()]).toEqual([SILENT, false]);
    withNode("24");
    withPackage("24");
    expect([called(), isRecorded()]).toEqual([SILENT, true]);
  });

  it("skips versions that cannot run retinue", () => {
    const { home, env, withNode, withPackage, called, isRecorded } = machine();
    writeLauncher(env, { node: withNode("22"), folder: PACKAGE });
    rmSync(join(home, "versions/22"), { recursive: true });
    for (const old of ["18", "20"]) {
      rmSync(withNode(old));
      writeFileSync(join(home, `versions/${old}/bin/node`), "#!/bin/sh\necho too old >&2; exit 1\n", { mode: 0o755 });
      withPackage(old);
    }
    withNode("24");
    expect([called(), isRecorded()]).toEqual([SILENT, true]);
  });

  it("finds the retinue of PATH", () => {
    const { home, env, called, isRecorded } = machine();
    writeLauncher(env, { node: "/gone/bin/node", folder: "/gone/retinue" });
    const bin = join(home, "bin");
    mkdirSync(bin);
    const program = `#!/bin/sh\nexec '${process.execPath}' '${join(PACKAGE, "bin/retinue.js")}' "$@"\n`;
    writeFileSync(join(bin, "retinue"), program, { mode: 0o755 });
    expect([called(["hook"], { PATH: `${bin}:/bin` }), isRecorded()]).toEqual([SILENT, true]);
  });

  it("ends if it finds only itself", () => {
    const { env, called, isRecorded } = machine();
    writeLauncher(env, { node: "/gone/bin/node", folder: "/gone/retinue" });
    expect([called(["hook"], { PATH: dirname(launcherPath(env)) }), isRecorded()]).toEqual([SILENT, false]);
  });

  it("is silent while the package is replaced", () => {
    const { home, env, called } = machine();
    const folder = join(home, "half");
    cpSync(join(PACKAGE, "bin"), join(folder, "bin"), { recursive: true });
    writeLauncher(env, { node: process.execPath, folder });
    expect(called()).toEqual(SILENT);
  });
});

/** A hook may be slow on a busy machine; only one that hangs is not waited for. */
const PATIENT_MS = 300_000;

describe("retinue doctor", () => {
  const installed = async ({ home, env }: ReturnType<typeof machine>) => {
    await retinue(home, ["hooks", "install", "claude", "--yes"], env);
    return join(home, ".claude/settings.json");
  };

  it("says nothing about hooks that work", async () => {
    const place = machine();
    await installed(place);
    expect(await hookProblems(place.env, PATIENT_MS)).toEqual([]);
  });

  it.each([
    ["is missing", (path: string) => rmSync(path)],
    ["is empty", (path: string) => writeFileSync(path, "")],
    ["cannot be executed", (path: string) => chmodSync(path, 0o600)],
    [
      "names a Node.js that is gone",
      (path: string) => writeFileSync(path, readFileSync(path, "utf8").replaceAll(process.execPath, "/gone/bin/node")),
    ],
    [
      "names a package that is gone",
      (path: string) => writeFileSync(path, readFileSync(path, "utf8").replaceAll(PACKAGE, "/gone/retinue")),
    ],
  ])("mends a launcher that %s, and says so once", async (_, damage) => {
    const place = machine();
    await installed(place);
    damage(launcherPath(place.env));
    const { stdout } = await retinue(place.home, ["doctor"], place.env);
    expect(stdout).toMatch(/info +hook-mended ×1/);
    expect([place.called(), place.isRecorded()]).toEqual([SILENT, true]);
    expect(await hookProblems(place.env, PATIENT_MS)).toEqual([]);
  });

  it("reports hooks that name one Node.js, which another installation replaces", async () => {
    const place = machine();
    const path = await installed(place);
    const direct = `${process.execPath} ${join(PACKAGE, "bin/retinue.js")}`;
    // The path of the launcher is quoted, because it contains a space.
    const text = readFileSync(path, "utf8").replaceAll(`\\"${launcherPath(place.env)}\\"`, direct);
    expect(text).toContain(direct);
    writeFileSync(path, text);
    expect(await hookProblems(place.env, PATIENT_MS)).toEqual([
      { code: "hook-outdated", where: path, detail: expect.stringMatching(/next: retinue hooks install claude$/) },
    ]);
    await installed(place);
    expect(readFileSync(path, "utf8")).not.toContain(direct);
    expect(await hookProblems(place.env, PATIENT_MS)).toEqual([]);
    await retinue(place.home, ["hooks", "uninstall", "claude", "--yes"], place.env);
    expect(existsSync(path)).toBe(false);
  });

  it("reports a launcher of another home that starts nothing, or another version", async () => {
    const place = machine();
    const path = await installed(place);
    const other = { ...place.env, RETINUE_HOME: join(place.home, "other") };
    writeLauncher(other, { node: "/gone/bin/node", folder: "/gone/retinue" });
    const commands = readFileSync(path, "utf8").replaceAll(launcherPath(place.env), launcherPath(other));
    writeFileSync(path, commands);
    const problems = () => hookProblems({ ...place.env, PATH: "/nowhere" });
    expect(await problems()).toMatchObject([{ code: "hook-broken", detail: /finds no Node\.js and retinue/ }]);
    writeFileSync(launcherPath(other), '#!/bin/sh\n[ "$1" = hook ] || echo 0.0.1\n', { mode: 0o755 });
    expect(await problems()).toMatchObject([{ code: "hook-outdated", detail: /starts version 0\.0\.1/ }]);
  });
});
