import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const run = promisify(execFile);
/** On Windows, npm is a shell script. */
const npm = (args: readonly string[], cwd: string) =>
  run("npm", [...args], { cwd, shell: process.platform === "win32" });
const ROOT = join(import.meta.dirname, "../..");
const BIN = join("node_modules", "retinue", "bin", "retinue.js");
const scratch = mkdtempSync(join(tmpdir(), "retinue-package-"));

interface Pack {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
  readonly unpackedSize: number;
}
let pack: Pack | undefined;

/** What a user gets from the registry: the tarball and its dependencies, nothing else of the repository. */
beforeAll(async () => {
  // `npm test` has just built dist/; building it again while packing would empty it under other tests.
  const { stdout } = await npm(["pack", "--ignore-scripts", "--json", "--pack-destination", scratch], ROOT);
  [pack] = JSON.parse(stdout) as Pack[];
  writeFileSync(join(scratch, "package.json"), '{"private":true}');
  await npm(["install", "--omit=dev", "--no-audit", "--no-fund", join(scratch, pack?.filename ?? "")], scratch);
}, 120_000);
afterAll(() => rmSync(scratch, { recursive: true }));

describe("the packed tarball in an empty folder", () => {
  const env = { PATH: process.env.PATH ?? "", HOME: scratch, RETINUE_HOME: join(scratch, "data") };

  it("shows the demo without development dependencies", async () => {
    const child = spawn(process.execPath, [BIN, "demo", "--no-open", "--port", "0"], {
      cwd: scratch,
      env: { ...env, TMPDIR: scratch },
    });
    try {
      const [address] = (await once(child.stdout, "data")) as [Buffer];
      const descriptions = async () => {
        const tree = await fetch(new URL("/api/agents/latest", address.toString().trim()));
        return tree.status === 200 ? JSON.stringify(await tree.json()) : "";
      };
      // The thread must be the latest one at some moment; another may be a moment later.
      await expect.poll(descriptions, { timeout: 60_000 }).toContain("Security review");
    } finally {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
  });

  it("contains every module that the command starts directly", () => {
    const program = readFileSync(join(scratch, "node_modules/retinue/bin/retinue.js"), "utf8");
    const started = [...program.matchAll(/import\("\.\.\/(dist\/[^"]+)"\)/g)].map(([, path]) => path ?? "");
    expect(started.length).toBeGreaterThanOrEqual(4);
    expect(started.filter((path) => !existsSync(join(scratch, "node_modules/retinue", path)))).toEqual([]);
  });

  it("stores manual links without warnings about experimental features", async () => {
    const home = { ...env, CLAUDE_CONFIG_DIR: join(scratch, "node_modules/retinue/examples/claude") };
    const { stderr } = await run(process.execPath, [BIN, "link", "latest/a51bb0", "latest"], {
      cwd: scratch,
      env: home,
    });
    expect(stderr).toBe("");
    const { stdout } = await run(process.execPath, [BIN, "why", "latest/a51bb0"], { cwd: scratch, env: home });
    expect(stdout).toContain("→ decided  manual");
  });

  it("can be imported as a library with types", async () => {
    const home = join(scratch, "library-home");
    const program = `import { open, run, NotSupported } from "retinue";
const retinue = await open({ env: { HOME: ${JSON.stringify(home)}, RETINUE_HOME: ${JSON.stringify(join(home, "data"))}, CLAUDE_CONFIG_DIR: ${JSON.stringify(join(scratch, "node_modules/retinue/examples/claude"))} } });
console.log((await retinue.threads()).length > 0, typeof run, NotSupported.name);
retinue.close();`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: scratch, env });
    expect(stdout).toBe("true function NotSupported\n");
    const required = ["-e", 'console.log(typeof require("retinue").open)'];
    expect((await run(process.execPath, required, { cwd: scratch, env })).stdout).toBe("function\n");
    const { exports } = JSON.parse(readFileSync(join(scratch, "node_modules/retinue/package.json"), "utf8")) as {
      exports: { ".": Record<string, string> };
    };
    for (const path of Object.values(exports["."]))
      expect(existsSync(join(scratch, "node_modules/retinue", path))).toBe(true);
  });

  it("uses the fast entry point for hooks and status lines", async () => {
    const asked = { session_id: "00000000-0000-4000-8000-000000000000", hook_event_name: "Stop" };
    for (const command of ["hook", "statusline"]) {
      const child = spawn(process.execPath, [BIN, command], { cwd: scratch, env });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (part: Buffer) => {
          output += part;
        });
      child.stdin.end(JSON.stringify(asked));
      const [code] = (await once(child, "close")) as [number];
      expect([command, code, output]).toEqual([command, 0, ""]);
    }
    expect(existsSync(join(env.RETINUE_HOME, "recordings/claude/hooks", `${asked.session_id}.jsonl`))).toBe(true);
  });

  it("contains neither sources nor tests nor fixtures", () => {
    const folders = new Set(pack?.files.map((f) => f.path.split("/")[0]));
    expect([...folders].sort()).toEqual(["LICENSE", "README.md", "bin", "dist", "examples", "package.json"]);
    expect(pack?.unpackedSize).toBeLessThan(4_200_000);
  });
});

describe("a Node.js version that is too old", () => {
  it.each(["20.20.2", "22.18.0", "18.0.0"])("%s prints one sentence and no stack trace", async (version) => {
    const pretend = `Object.defineProperty(process.versions, "node", { value: "${version}" }); import(${JSON.stringify(join(ROOT, "bin/retinue.js"))})`;
    const failed = await run(process.execPath, ["-e", pretend]).catch(
      (error: { code: number; stdout: string; stderr: string }) => error,
    );
    expect(failed).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `retinue needs Node.js 22.19 or newer; this is Node.js ${version}.\n`,
    });
  });
});
