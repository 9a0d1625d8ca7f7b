/** `retinue hook`: the agent never waits and is not affected. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
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
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { hook } from "../../src/app/hooks/hook.ts";
import { readMachine } from "../../src/app/machine.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { FIXTURES, homeEnv } from "../support/fixtures.ts";
import { startServer, until } from "../support/server.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-hooks-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let homes = 0;
const newHome = () => {
  const home = join(scratch, `home-${homes++}`);
  mkdirSync(home, { recursive: true });
  return home;
};

const SESSION = "b7ee73a5-27dd-4edd-9153-75b0a97a7d14";
const payloads = readFileSync(join(FIXTURES, `claude/k-hooks/recordings/claude/hooks/${SESSION}.jsonl`), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.stringify((JSON.parse(line) as { raw: unknown }).raw));
const recordingOf = (data: string) => join(data, "recordings/claude/hooks", `${SESSION}.jsonl`);

/** As an agent runs it: one process per payload. */
async function called(payload: string | Buffer, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [MAIN, "hook"], { env: { PATH: process.env.PATH ?? "", ...COMPILED, ...env } });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (part: Buffer) => {
      output += part;
    });
  child.stdin.on("error", () => {});
  child.stdin.end(payload);
  const [code] = (await once(child, "close")) as [number];
  return { code, output };
}
const SILENT = { code: 0, output: "" };

describe("retinue hook", () => {
  it("records the payload, prints nothing, and needs no server", async () => {
    const data = join(newHome(), "data");
    for (const payload of payloads.slice(0, 3))
      expect(await called(payload, { HOME: scratch, RETINUE_HOME: data })).toEqual(SILENT);
    const kept = readFileSync(recordingOf(data), "utf8").trim().split("\n");
    expect(kept.map((line) => (JSON.parse(line) as { raw: unknown }).raw)).toEqual(
      payloads.slice(0, 3).map((payload) => JSON.parse(payload)),
    );
  });

  it("loses nothing if ten run at once", async () => {
    const data = join(newHome(), "data");
    const many = payloads.slice(0, 10);
    expect(await Promise.all(many.map((payload) => called(payload, { HOME: scratch, RETINUE_HOME: data })))).toEqual(
      many.map(() => SILENT),
    );
    const kept = readFileSync(recordingOf(data), "utf8").trim().split("\n");
    expect(kept.map((line) => JSON.stringify((JSON.parse(line) as { raw: unknown }).raw)).sort()).toEqual(
      [...many].sort(),
    );
  });

  it("records a payload of 50 MB", async () => {
    const data = join(newHome(), "data");
    const prompt = "ü".repeat(25_000_000);
    await hook({ HOME: scratch, RETINUE_HOME: data }, () =>
      JSON.stringify({ session_id: SESSION, hook_event_name: "UserPromptSubmit", prompt }),
    );
    expect(statSync(recordingOf(data)).size).toBeGreaterThan(50_000_000);
    const { forest, problems } = await readMachine({ env: { HOME: newHome(), RETINUE_HOME: data } });
    expect([forest.roots, problems]).toEqual([[`claude:${SESSION}`], []]);
  });

  it("records nothing of a payload that exceeds the limit for records", async () => {
    const data = join(newHome(), "data");
    // The reader of stdin returns null for a payload that is too long.
    await hook({ HOME: scratch, RETINUE_HOME: data }, () => null);
    expect(existsSync(join(data, "recordings"))).toBe(false);
  });

  it.each([
    ["junk", "\u0000\u0001 no JSON at all {"],
    ["nothing", ""],
    ["an event without a session", '{"hook_event_name":"Stop"}'],
    ["an id with path traversal", '{"hook_event_name":"Stop","session_id":"../../../etc/x"}'],
  ])("prints nothing for %s, and records nothing", async (_, payload) => {
    const data = join(newHome(), "data");
    expect(await called(payload, { HOME: scratch, RETINUE_HOME: data })).toEqual(SILENT);
    expect(existsSync(join(data, "recordings"))).toBe(false);
  });

  it("prints nothing if the disk is not writable", async () => {
    const data = join(newHome(), "data");
    writeFileSync(data, "a file where a folder is wanted");
    expect(await called(payloads[0] ?? "", { HOME: scratch, RETINUE_HOME: data })).toEqual(SILENT);
  });

  it("prints nothing if the server is gone", async () => {
    const data = join(newHome(), "data");
    mkdirSync(data, { recursive: true });
    const gone = { instance: "x", pid: 1, host: "127.0.0.1", port: 1, url: "http://127.0.0.1:1/", token: null };
    writeFileSync(join(data, "server.json"), JSON.stringify(gone));
    expect(await called(payloads[0] ?? "", { HOME: scratch, RETINUE_HOME: data })).toEqual(SILENT);
    expect(existsSync(recordingOf(data))).toBe(true);
  });

  it("notifies the server, which follows the transcript in any folder, with the agents next to it", async () => {
    const server = await startServer(null);
    onTestFinished(() => server.close());
    const elsewhere = join(newHome(), "other-config");
    cpSync(join(FIXTURES, "claude/k-hooks/home/.claude"), elsewhere, { recursive: true });
    const transcript = `${elsewhere}/projects/-home-dev-trial-runs-k-hooks-repo/${SESSION}.jsonl`;
    expect(existsSync(transcript)).toBe(true);
    const payload = { ...(JSON.parse(payloads[1] ?? "") as object), transcript_path: transcript };
    expect(await called(JSON.stringify(payload), server.env)).toEqual(SILENT);
    const uri = `/api/agents/${encodeURIComponent(`claude://${SESSION}`)}`;
    const tree = () => server.json<{ counts?: { descendants: number }; usage?: { subtree: { calls: number } } }>(uri);
    await until(async () => (await tree()).counts?.descendants === 3, tree);
    // Records that are appended there are read, too.
    const before = (await tree()).usage?.subtree.calls ?? 0;
    const line =
      readFileSync(transcript, "utf8")
        .split("\n")
        .findLast((one) => one.includes('"type":"assistant"')) ?? "";
    appendFileSync(
      transcript,
      `${line.replace(/"id":"msg_[^"]*"/, '"id":"msg_0123456789abcdefgh"').replace(/"uuid":"[^"]*"/, '"uuid":"00000000-0000-4000-8000-000000000000"')}\n`,
    );
    await until(async () => (await tree()).usage?.subtree.calls === before + 1, tree);
  });
});

describe("a transcript in any place", () => {
  const recorded = join(FIXTURES, "claude/k-hooks/home/.claude/projects/-home-dev-trial-runs-k-hooks-repo");
  /** The transcript and its agents under other names; `agents` is the folder that contains `subagents`. */
  const placed = (transcript: string, agents: string) => {
    mkdirSync(dirname(transcript), { recursive: true });
    cpSync(join(recorded, `${SESSION}.jsonl`), transcript);
    cpSync(join(recorded, SESSION), agents, { recursive: true });
  };
  const payloadFor = (path: string, more: object = {}) =>
    JSON.stringify({ ...(JSON.parse(payloads[1] ?? "") as object), transcript_path: path, ...more });
  const seen = async (env: Readonly<Record<string, string>>) => {
    const { forest, problems } = await readMachine({ env });
    return {
      threads: forest.roots,
      below: forest.agents.size - 1,
      files: forest.agents.get(forest.roots[0] as never)?.files.length,
      problems,
    };
  };
  const WHOLE = { threads: [`claude:${SESSION}`], below: 3, files: 2, problems: [] };

  it.each([
    ["in a folder of no product", (home: string) => [`${home}/notes/${SESSION}.jsonl`, `${home}/notes/${SESSION}`]],
    ["under another name", (home: string) => [`${home}/notes/transcript.jsonl`, `${home}/notes/${SESSION}`]],
    [
      "with agents in a folder of the file's name",
      (home: string) => [`${home}/notes/transcript.jsonl`, `${home}/notes/transcript`],
    ],
    ["with agents next to it", (home: string) => [`${home}/notes/transcript.jsonl`, `${home}/notes`]],
    ["with another extension", (home: string) => [`${home}/notes/log.txt`, `${home}/notes/log`]],
    [
      "in a folder of projects",
      (home: string) => [`${home}/projects/app/${SESSION}.jsonl`, `${home}/projects/app/${SESSION}`],
    ],
    [
      "in a folder with an odd name",
      (home: string) => [`${home}/a "b"\n%20 ü;$x/${SESSION}.jsonl`, `${home}/a "b"\n%20 ü;$x/${SESSION}`],
    ],
    [
      "deeper below the usual folder",
      (home: string) => [
        `${home}/.claude/projects/-x/y/z/${SESSION}.jsonl`,
        `${home}/.claude/projects/-x/y/z/${SESSION}`,
      ],
    ],
  ])("%s", async (_, places) => {
    const home = newHome();
    const env = { ...homeEnv(home), RETINUE_HOME: join(home, "data") };
    const [transcript = "", agents = ""] = places(home);
    placed(transcript, agents);
    await hook(env, () => payloadFor(transcript));
    expect(await seen(env)).toEqual(WHOLE);
  });

  it("is found behind symbolic links and by a relative path", async () => {
    const home = newHome();
    const env = { ...homeEnv(home), RETINUE_HOME: join(home, "data") };
    placed(`${home}/real/${SESSION}.jsonl`, `${home}/real/${SESSION}`);
    symlinkSync(`${home}/real`, `${home}/linked`);
    symlinkSync(`${home}/real/${SESSION}.jsonl`, `${home}/link.jsonl`);
    await hook(env, () => payloadFor(`${home}/linked/${SESSION}.jsonl`));
    await hook(env, () => payloadFor(`${home}/link.jsonl`));
    await hook(env, () => payloadFor(`./real/${SESSION}.jsonl`, { cwd: home }));
    expect(await seen(env)).toEqual(WHOLE);
    expect(readFileSync(join(home, "data/recordings/claude/roots"), "utf8").trim().split("\n")).toHaveLength(1);
  });

  it("does not cause other files in its folder to be read", async () => {
    const home = newHome();
    const env = { ...homeEnv(home), RETINUE_HOME: join(home, "data") };
    placed(`${home}/notes/${SESSION}.jsonl`, `${home}/notes/${SESSION}`);
    cpSync(join(FIXTURES, "claude/a-single/home/.claude/projects"), `${home}/notes/projects`, { recursive: true });
    for (const name of readdirSync(join(FIXTURES, "claude/a-single/home/.claude/projects")))
      cpSync(join(home, "notes/projects", name), join(home, "notes"), { recursive: true });
    symlinkSync("/nowhere", `${home}/notes/link`);
    await hook(env, () => payloadFor(`${home}/notes/${SESSION}.jsonl`));
    expect(await seen(env)).toEqual(WHOLE);
  });

  it("is followed by the server as it grows", async () => {
    const server = await startServer(null);
    onTestFinished(() => server.close());
    const folder = join(newHome(), "work");
    mkdirSync(folder, { recursive: true });
    // The first hooks of a session run before its transcript exists.
    expect(await called(payloadFor(`${folder}/${SESSION}.jsonl`), server.env)).toEqual(SILENT);
    const uri = `/api/agents/${encodeURIComponent(`claude://${SESSION}`)}`;
    const tree = () => server.json<{ counts?: { descendants: number }; usage?: { subtree: { calls: number } } }>(uri);
    await until(async () => (await tree()).usage !== undefined, tree);
    placed(`${folder}/${SESSION}.jsonl`, `${folder}/${SESSION}`);
    await until(async () => (await tree()).counts?.descendants === 3, tree);
  });
});

describe("payloads of other products", () => {
  const grok = readFileSync(join(FIXTURES, "hooks/grok-1.0.41.jsonl"), "utf8").trim().split("\n");
  const base = { session_id: SESSION, cwd: "/home/dev/x", permission_mode: "default" };
  const others: [string, string[]][] = [
    ["Grok 1.0.41, which runs the hooks of Claude Code's settings", grok],
    [
      "Grok, recognised by its paths only",
      grok
        .map((line) =>
          JSON.stringify(
            Object.fromEntries(Object.entries(JSON.parse(line) as object).filter(([name]) => !/[A-Z]/.test(name))),
          ),
        )
        .filter((line) => line.includes("transcript_path")),
    ],
    [
      "Cursor",
      [
        JSON.stringify({
          ...base,
          conversation_id: SESSION,
          generation_id: "g",
          hook_event_name: "Stop",
          cursor_version: "3.1.0",
          transcript_path: null,
        }),
      ],
    ],
    ["VS Code", [JSON.stringify({ ...base, sessionId: SESSION, hookEventName: "Stop", hook_event_name: "Stop" })]],
    ["Gemini CLI", [JSON.stringify({ ...base, hook_event_name: "BeforeAgent", prompt: "hi", transcript_path: "" })]],
    [
      "Qwen",
      [
        JSON.stringify({
          ...base,
          hook_event_name: "UserPromptSubmit",
          prompt: "hi",
          transcript_path: `/home/dev/.qwen/projects/-home-dev-x/chats/${SESSION}.jsonl`,
        }),
      ],
    ],
    [
      "Droid",
      [
        JSON.stringify({
          ...base,
          hook_event_name: "Stop",
          transcript_path: `/home/dev/.factory/sessions/-home-dev-x/${SESSION}.jsonl`,
        }),
      ],
    ],
  ];

  it.each(others)("of %s create no thread of Claude Code", async (_, lines) => {
    const env = { HOME: newHome(), RETINUE_HOME: join(newHome(), "data") };
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) await hook(env, () => line);
    const { roots } = (await readMachine({ env })).forest;
    expect(roots.filter((key) => key.startsWith("claude:"))).toEqual([]);
  });

  it("of Grok are those of a Grok session, whichever settings file they come from", async () => {
    const env = { HOME: newHome(), RETINUE_HOME: join(newHome(), "data") };
    for (const line of grok) await hook(env, () => line);
    const { roots } = (await readMachine({ env })).forest;
    expect(new Set(roots.map((key) => key.split(":")[0]))).toEqual(new Set(["grok"]));
    expect(roots).toHaveLength(1);
  });

  it("that were recorded as Claude Code's show nothing either", async () => {
    const data = join(newHome(), "data");
    mkdirSync(join(data, "recordings/claude/hooks"), { recursive: true });
    const shape = JSON.parse(
      readFileSync(join(FIXTURES, `claude/k-hooks/recordings/claude/hooks/${SESSION}.jsonl`), "utf8").split("\n")[0] ??
        "",
    ) as object;
    expect(Object.keys(shape)).toContain("raw");
    writeFileSync(
      join(data, "recordings/claude/hooks/x.jsonl"),
      grok.map((line) => `${JSON.stringify({ ...shape, raw: JSON.parse(line) as unknown })}\n`).join(""),
    );
    expect((await readMachine({ env: { HOME: newHome(), RETINUE_HOME: data } })).forest.roots).toEqual([]);
  });
});

it("a home's usual folders are not followed twice", async () => {
  const home = newHome();
  const data = join(home, "data");
  cpSync(join(FIXTURES, "claude/k-hooks/home/.claude"), join(home, ".claude"), { recursive: true });
  const env = { ...homeEnv(home), RETINUE_HOME: data };
  const transcript = `${home}/.claude/projects/-home-dev-trial-runs-k-hooks-repo/${SESSION}.jsonl`;
  await hook(env, () => JSON.stringify({ ...(JSON.parse(payloads[1] ?? "") as object), transcript_path: transcript }));
  const { roots } = await readMachine({ env });
  expect(roots.filter(({ path }) => path === join(home, ".claude"))).toHaveLength(1);
});
