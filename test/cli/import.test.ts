/** `retinue import` on the command line: what it accepts, what it refuses, and that it changes no other file. */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { type CliResult, retinue } from "../support/cli.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";

const NESTED = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const LEAF = "a06b55e9d9f2be101";

const scratch = mkdtempSync(join(tmpdir(), "retinue-import-"));
afterAll(() => rmSync(scratch, { recursive: true }));

let homes = 0;
/** An empty home, and a colleague's folder with the files of one recording. */
function desk(recording: string) {
  const folder = join(scratch, String(homes++));
  const [there, data] = [join(folder, "from a colleague"), join(folder, "data")];
  const projects = join(recordedHome("claude", recording).home, ".claude", "projects");
  cpSync(join(projects, readdirSync(projects)[0] ?? ""), there, { recursive: true });
  const run = (...args: string[]): Promise<CliResult> => retinue(folder, args, { RETINUE_HOME: data });
  const json = async (...args: string[]): Promise<unknown> => JSON.parse((await run(...args, "--json")).stdout);
  return { folder, there, data, run, json };
}

const linesOf = (path: string) => readFileSync(path, "utf8").split(/(?<=\n)/);

describe("an imported transcript", () => {
  it("is found by every command, with the agents next to it", async () => {
    const { there, data, run, json } = desk("c-nested");
    const before = stamps(there);
    const { code, stdout, stderr } = await run("import", join(there, `${NESTED}.jsonl`));
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: `imported claude://${NESTED}: 7 files\n`,
      stderr: `next: retinue tree claude://${NESTED}\n`,
    });
    expect(stamps(there)).toEqual(before);
    expect(((await json("ls")) as AgentRecord[]).map((r) => [r.uri, r.counts.descendants])).toEqual([
      [`claude://${NESTED}`, 3],
    ]);
    const tree = (await json("tree", "latest")) as AgentTree;
    expect(tree.usage.subtree.costUsd).toBeCloseTo(0.04807, 10);
    expect((await run(`latest/${LEAF}`)).stdout).toContain("## Lifecycle (Parent Thread)");
    expect((await run("why", `latest/${LEAF}`)).stdout).toContain("→ decided  meta.parentAgentId");
    expect((await run("events", "latest", "--subtree")).stdout).toContain("Go deeper. @@L3");
    expect((await run("search", "Go deeper. @@L3")).stdout).toContain(`claude://${NESTED}`);
    expect((await run("doctor")).stdout).toContain(`Claude Code: ${data}/imported/claude  7 files`);
  });

  it("is private and read-only", async () => {
    const { there, data, run } = desk("c-nested");
    await run("import", join(there, `${NESTED}.jsonl`));
    const files = filesBelow(data).map((path) => join(data, path));
    expect(files).toHaveLength(7);
    expect(files.map((path) => statSync(path).mode & 0o777)).toEqual(files.map(() => 0o400));
    expect(readdirSync(join(data, "imported"))).toEqual(["claude"]);
  });

  it("may be a session of 2.0.76, whose agents are in the same folder as those of other sessions", async () => {
    const { there, run, json } = desk("v2.0.76");
    const main = readdirSync(there).find((name) => !name.startsWith("agent-")) ?? "";
    const [mine] = readdirSync(there).filter((name) => name.startsWith("agent-"));
    const session = basename(main, ".jsonl");
    writeFileSync(
      join(there, "agent-0000000.jsonl"),
      readFileSync(join(there, mine ?? ""), "utf8").replaceAll(session, NESTED),
    );
    expect((await run("import", join(there, main))).code).toBe(0);
    expect(((await json("tree", "latest")) as AgentTree).counts.descendants).toBe(3);
    expect((await json("ls")) as AgentRecord[]).toHaveLength(1);
  });

  it("may have had any file name", async () => {
    const { there, run, json } = desk("c-nested");
    cpSync(join(there, `${NESTED}.jsonl`), join(there, "the broken run.jsonl"));
    cpSync(join(there, NESTED), join(there, "the broken run"), { recursive: true });
    rmSync(join(there, NESTED), { recursive: true });
    expect((await run("import", join(there, "the broken run.jsonl"))).stdout).toContain(
      `imported claude://${NESTED}: 7 files`,
    );
    expect(((await json("tree", "latest")) as AgentTree).counts.descendants).toBe(3);
  });

  it("of one agent is shown under its thread, which is reported as missing", async () => {
    const { there, run, json } = desk("c-nested");
    const { stdout } = await run("import", join(there, NESTED, "subagents", `agent-${LEAF}.jsonl`));
    expect(stdout).toBe(`imported claude://${NESTED}/${LEAF}: 2 files\n`);
    expect(((await json("tree", `${NESTED}/${LEAF}`)) as AgentTree).description).toBe("Level L3");
    expect((await run("doctor")).stdout).toContain("thread-missing");
  });

  it("is shown as shut down for inactivity, not for a missing process", async () => {
    const { there, run, json } = desk("f3-sigterm");
    await run("import", join(there, readdirSync(there).find((name) => name.endsWith(".jsonl")) ?? ""));
    const { status, statusReason } = (await json("tree", "latest")) as AgentTree;
    expect({ status, reported: /nothing was written since/.test(statusReason) }).toEqual({
      status: "shutdown",
      reported: true,
    });
  });

  it("is reported as JSON", async () => {
    const { there, data, json } = desk("c-nested");
    const place = join(data, "imported", "claude", "projects", NESTED);
    const imported = (await json("import", join(there, `${NESTED}.jsonl`))) as {
      files: { path: string; bytes: number; did: string }[];
    };
    expect(imported).toMatchObject({ uri: `claude://${NESTED}`, provider: "claude", did: "added" });
    expect(imported.files[0]).toEqual({
      path: join(place, `${NESTED}.jsonl`),
      bytes: statSync(join(there, `${NESTED}.jsonl`)).size,
      did: "added",
    });
  });

  it("that also exists in the home is counted once, and events keep their ids", async () => {
    const { data, there } = desk("c-nested");
    const { home } = recordedHome("claude", "c-nested");
    const run = (...args: string[]) => retinue(home, args, { RETINUE_HOME: data });
    const seen = async () => {
      const tree = JSON.parse((await run("tree", "latest", "--json")).stdout) as AgentTree;
      const events = (await run("events", "latest", "--subtree")).stdout.trimEnd().split("\n");
      return {
        usage: tree.usage,
        counts: tree.counts,
        status: tree.status,
        events: events.map((line) => (JSON.parse(line) as AgentEvent).id),
      };
    };
    const before = await seen();
    expect((await run("import", join(there, `${NESTED}.jsonl`))).code).toBe(0);
    expect(await seen()).toEqual(before);
  });
});

describe("importing again", () => {
  it("an identical file changes nothing, and is reported", async () => {
    const { there, data, run } = desk("c-nested");
    const file = join(there, `${NESTED}.jsonl`);
    await run("import", file);
    const before = stamps(data);
    const { code, stdout } = await run("import", file);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `claude://${NESTED} is already imported and unchanged\n` });
    expect(stamps(data)).toEqual(before);
  });

  it("a longer version replaces a shorter one", async () => {
    const { there, run, json } = desk("c-nested");
    const file = join(there, `${NESTED}.jsonl`);
    const all = readFileSync(file);
    const leaf = join(there, NESTED, "subagents", `agent-${LEAF}.jsonl`);
    const [later, meta] = [readFileSync(leaf), readFileSync(leaf.replace(".jsonl", ".meta.json"))];
    // Cut within a line, like a copy of a running session.
    writeFileSync(file, all.subarray(0, all.length >> 1));
    writeFileSync(
      leaf.replace(".jsonl", ".meta.json"),
      JSON.stringify({ ...(JSON.parse(meta.toString()) as object), description: "not yet" }),
    );
    rmSync(leaf);
    await run("import", file);
    writeFileSync(file, all);
    writeFileSync(leaf, later);
    writeFileSync(leaf.replace(".jsonl", ".meta.json"), meta);
    expect((await run("import", file)).stdout).toBe(
      `updated claude://${NESTED}: 1 file new, 1 file longer, 1 file changed\n`,
    );
    expect(((await json("tree", "latest")) as AgentTree).usage.subtree.costUsd).toBeCloseTo(0.04807, 10);
  });

  it("a contradicting version is refused without any change; --replace accepts it", async () => {
    const { there, data, run, json } = desk("c-nested");
    const file = join(there, `${NESTED}.jsonl`);
    await run("import", file);
    const leaf = async () => ((await json("tree", `latest/${LEAF}`)) as AgentTree).records.length;
    expect(await leaf()).toBe(1);
    const before = stamps(join(data, "imported"));
    const lines = linesOf(file);
    writeFileSync(file, lines.map((line) => line.replaceAll("Go deeper", "Dig deeper")).join(""));
    rmSync(join(there, NESTED, "subagents", `agent-${LEAF}.jsonl`));
    rmSync(join(there, NESTED, "subagents", `agent-${LEAF}.meta.json`));
    const refused = await run("import", file);
    expect(refused.code).toBe(1);
    expect(refused.stdout).toBe("");
    expect(refused.stderr).toContain(
      `claude://${NESTED} is already imported and differs: neither continues the other\n`,
    );
    expect(refused.stderr).toContain("next: --replace to replace it");
    expect(stamps(join(data, "imported"))).toEqual(before);
    expect((await run("import", file, "--replace")).stdout).toBe(`replaced claude://${NESTED}: 5 files\n`);
    expect(filesBelow(join(data, "imported"))).toHaveLength(5);
    expect(JSON.stringify(await json("tree", "latest"))).toContain("Dig deeper");
    // Its parent still names it.
    expect(await leaf()).toBe(0);
  });

  it("an older version is refused, and reported as older", async () => {
    const { there, run } = desk("c-nested");
    const file = join(there, `${NESTED}.jsonl`);
    await run("import", file);
    writeFileSync(file, linesOf(file).slice(0, 5).join(""));
    const { code, stderr } = await run("import", file);
    expect({ code, reported: stderr.includes("the existing copy is longer") }).toEqual({ code: 1, reported: true });
  });

  it("one agent with --replace keeps the others", async () => {
    const { there, data, run } = desk("c-nested");
    await run("import", join(there, `${NESTED}.jsonl`));
    const leaf = join(there, NESTED, "subagents", `agent-${LEAF}.jsonl`);
    writeFileSync(leaf, readFileSync(leaf, "utf8").replaceAll("Go deeper", "Dig deeper"));
    expect((await run("import", leaf)).code).toBe(1);
    expect((await run("import", leaf, "--replace")).stdout).toBe(`replaced claude://${NESTED}/${LEAF}: 2 files\n`);
    expect(filesBelow(data)).toHaveLength(7);
  });
});

describe("import refuses", () => {
  it.each([
    ["text", "hello\n"],
    ["JSON of another program", '{"type":"session_meta","payload":{"id":"x"}}\n'],
    ["nothing", ""],
    [
      "a name with path traversal",
      `{"type":"user","uuid":"u","isSidechain":false,"sessionId":"../../../../evil","message":{"role":"user","content":"x"}}\n`,
    ],
  ])("%s, and names what was expected", async (_what, content) => {
    const { there, data, run } = desk("c-nested");
    const file = join(there, "notes.jsonl");
    writeFileSync(file, content);
    const { code, stdout, stderr } = await run("import", file);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`${file} is not a transcript or output that can be imported`);
    expect(stderr).toMatch(/supported: <session>\.jsonl/);
    expect(() => readdirSync(data)).toThrow(/ENOENT/);
  });

  it("a folder and a missing file", async () => {
    const { there, run } = desk("c-nested");
    expect(await run("import", there)).toMatchObject({ code: 1, stderr: expect.stringContaining("is a folder") });
    expect(await run("import", join(there, "none.jsonl"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no file"),
    });
    expect(await run("import")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("missing required argument"),
    });
  });

  it("a link that leads out of retinue's own folder", async () => {
    const { folder, there, data, run } = desk("c-nested");
    const outside = join(folder, "outside");
    mkdirSync(outside);
    mkdirSync(join(data, "imported"), { recursive: true });
    symlinkSync(outside, join(data, "imported", "claude"));
    const { code, stderr } = await run("import", join(there, `${NESTED}.jsonl`));
    expect({ code, reported: stderr.includes("is a symbolic link and may point outside of") }).toEqual({
      code: 1,
      reported: true,
    });
    expect(readdirSync(outside)).toEqual([]);
  });

  it("a data folder that is not writable", async () => {
    const { folder, there } = desk("c-nested");
    const data = join(folder, "a file");
    writeFileSync(data, "");
    const { code, stderr } = await retinue(folder, ["import", join(there, `${NESTED}.jsonl`)], { RETINUE_HOME: data });
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot write to ${data}: `);
    expect(stderr).toContain("set RETINUE_HOME");
  });
});

describe("links next to a transcript", () => {
  it("are not followed", async () => {
    const { there, data, run } = desk("c-nested");
    const secret = join(dirname(there), "secret.jsonl");
    copyFileSync(join(there, NESTED, "subagents", `agent-${LEAF}.jsonl`), secret);
    symlinkSync(secret, join(there, NESTED, "subagents", "agent-linked.jsonl"));
    symlinkSync(secret, join(there, "agent-beside.jsonl"));
    await run("import", join(there, `${NESTED}.jsonl`));
    expect(filesBelow(data)).toHaveLength(7);
  });
});

const stamps = (folder: string) =>
  filesBelow(folder).map(
    (path) =>
      `${path} ${statSync(join(folder, path)).size} ${statSync(join(folder, path)).mtimeMs} ${statSync(join(folder, path)).ino}`,
  );
