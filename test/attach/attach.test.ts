/** What `retinue attach` runs for each product, from recordings, and what it refuses. */
import { randomUUID } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { nameIn } from "../../src/core/ports/attach.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "retinue-attach-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Node {
  uri: string;
  agentId: string | null;
  depth: number;
  children: Node[];
}
interface Plan {
  command: string[];
  cwd: string;
  begins: string;
  notes: string[];
  writes: { path: string; records: number }[];
}

type Counted = Node & { usage: { own: { calls: number } }; children: Counted[] };
const [QWEN, KIMI] = ["nested", "resume"];

const flat = (node: Node): Node[] => [node, ...node.children.flatMap(flat)];
async function deepest(provider: string, name: string): Promise<{ home: string; agent: Node }> {
  const { home } = recordedHome(provider, name);
  const all = flat((await retinueJson(home, ["tree", "latest"])) as Node);
  const agent = all.reduce((best, node) => (node.depth > best.depth ? node : best));
  return { home, agent };
}
const planOf = async (home: string, uri: string, ...more: string[]) =>
  (await retinueJson(home, ["attach", uri, "--print-command", "--in", folder, ...more])) as Plan;

it("a session of Claude Code 2.0.76, which gives copied records new ids, is a fork and counts nothing twice", async () => {
  const home = join(folder, "new-ids");
  cpSync(recordedHome("claude", "v2.0.76").home, home, { recursive: true });
  const before = (await retinueJson(home, ["tree", "latest"])) as Counted;
  const agent = before.children[0] as Counted;
  const project = join(home, ".claude/projects/-home-dev-trial-runs-v-2-0-76-v-compat-repo");
  const session = "0f9d1c55-2ad6-4c43-9a86-64a0a3a1d7aa";
  const [timestamp, ids] = ["2027-01-01T10:00:00.000Z", new Map<string, string>()];
  const idOf = (uuid: string) => ids.get(uuid) ?? (ids.set(uuid, randomUUID()).get(uuid) as string);
  const copies = readFileSync(join(project, `agent-${agent.agentId}.jsonl`), "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const {
        agentId: _a,
        requestId: _r,
        uuid,
        parentUuid,
        ...rest
      } = JSON.parse(line) as Record<string, string | null>;
      const parent = parentUuid == null ? null : idOf(parentUuid);
      return { ...rest, uuid: idOf(uuid ?? ""), parentUuid: parent, sessionId: session, isSidechain: false, timestamp };
    });
  writeFileSync(join(project, `${session}.jsonl`), copies.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const copy = (await retinueJson(home, ["tree", session])) as Counted;
  expect(copy).toMatchObject({ forkedFrom: agent.uri, usage: { own: { calls: 0 } } });
  expect(await retinueJson(home, ["tree", before.uri])).toEqual(before);
});

describe("the command", () => {
  it("of Droid forks the agent's own session; Qwen Code and Kimi Code begin with its history as text", async () => {
    const droid = await deepest("droid", "fail");
    expect(await planOf(droid.home, droid.agent.uri, "--with", "Go on.")).toMatchObject({
      command: ["droid", "exec", "--fork", droid.agent.agentId, "-m", expect.any(String), "Go on."],
      begins: "history",
      writes: [],
    });
    for (const [provider, name, first] of [
      ["qwen", QWEN, "qwen"],
      ["kimi", KIMI, "kimi"],
    ] as const) {
      const { home, agent } = await deepest(provider, name);
      const plan = await planOf(home, agent.uri, "--with", "Go on.");
      expect(plan.command[0]).toBe(first);
      expect(plan.command.at(-1)).toMatch(/^--prompt=\[continues agent [\s\S]*Go on\./);
      expect(plan).toMatchObject({ begins: "text", notes: [expect.stringContaining("cannot resume this agent")] });
    }
    const root = await retinueJson(recordedHome("qwen", QWEN).home, ["tree", "latest"]);
    const { sessionId, uri } = root as { sessionId: string; uri: string };
    expect((await planOf(recordedHome("qwen", QWEN).home, uri)).command.slice(0, 4)).toEqual([
      "qwen",
      "--resume",
      sessionId,
      "--fork-session",
    ]);
  });

  it.each([
    ["codex", "v2-nested", (id: string) => ["codex", "exec", "fork", "-m", "gpt-6.1-sol", id, "Go on."]],
    ["opencode", "nested", (id: string) => ["opencode", "run", "--session", id, "--fork", "Go on."]],
  ])("of %s forks the agent's own session", async (provider, name, command) => {
    const { home, agent } = await deepest(provider, name);
    const plan = await planOf(home, agent.uri, "--with", "Go on.");
    expect(plan).toMatchObject({ command: command(agent.agentId ?? ""), begins: "history", cwd: folder, writes: [] });
  });

  it("of Pi forks the agent's session file, or one that is made of its messages", async () => {
    const own = await deepest("pi", "nico");
    const plan = await planOf(own.home, own.agent.uri);
    expect(plan.command.slice(0, 2)).toEqual(["pi", "--fork"]);
    expect(plan.command[2]).toMatch(/run-0\/session\.jsonl$/);
    expect(plan.writes).toEqual([]);
    for (const [name, records] of [
      ["single", 6],
      ["tintin", 5],
      ["nested", 6],
    ] as const) {
      const { home, agent } = await deepest("pi", name);
      const made = await planOf(home, agent.uri);
      expect(made.command).toEqual(["pi", "--fork", made.writes[0]?.path]);
      expect({ name, begins: made.begins, records: made.writes[0]?.records }).toEqual({
        name,
        begins: "history",
        records,
      });
    }
  });

  it("of Gemini CLI loads a copy", async () => {
    const { home, agent } = await deepest("gemini", "single");
    const { command, writes } = await planOf(home, agent.uri, "--with", "-v is a flag");
    const copy = writes[0]?.path;
    expect(command).toEqual(["gemini", "--session-file", copy, "-m", "gemini-2.5-pro", "--prompt=-v is a flag"]);
  });

  it("of Letta Code continues the agent's own conversation, which it cannot copy, and reports that", async () => {
    const { home, agent } = await deepest("letta", "parallel");
    const [letta, thread] = [["letta", "--backend", "local"], agent.uri.split("/")[2] ?? ""];
    const own = await planOf(home, agent.uri, "--with", "Go on.");
    const id = agent.agentId ?? "";
    expect(own.command).toEqual([...letta, "--agent", id, "--conversation", "default", "-p", "Go on."]);
    expect(own).toMatchObject({
      begins: "history",
      notes: [expect.stringContaining("the conversation itself continues")],
    });
    const root = await planOf(home, `letta://${thread}`);
    expect(root.command).toEqual([...letta, "--conversation", thread]);
  });

  it("of Cline CLI resumes a thread; with a message, or for an agent, the history is text", async () => {
    const { home, agent } = await deepest("cline", "nested");
    const thread = agent.uri.split("/")[2] ?? "";
    expect((await planOf(home, `cline://${thread}`)).command).toEqual(["cline", "--id", thread]);
    expect((await planOf(home, `cline://${thread}`, "--with", "Go on.")).begins).toBe("text");
    expect((await planOf(home, agent.uri)).notes.join()).toContain("Cline resumes sessions, not agents below them");
  });

  it("of Copilot CLI begins a new session with the history as text, and reports that", async () => {
    const { home, agent } = await deepest("copilot", "nested");
    const plan = await planOf(home, agent.uri, "--with", "Go on.");
    expect(plan.begins).toBe("text");
    expect(plan.notes.join()).toContain("Copilot CLI cannot resume this agent");
    const [message = ""] = plan.command.slice(-1);
    expect(message).toMatch(/^\[continues agent copilot:[^\]]+\]\n/);
    expect(message).toMatch(/# Its task\n\n[\s\S]+# What happened\n[\s\S]+# Now\n\nGo on\.$/);
  });

  it("passes more arguments on, before the message", async () => {
    const { home, agent } = await deepest("codex", "v2-nested");
    const args = ["attach", agent.uri, "--print-command", "--json", "--with=-x", "--", "--json"];
    const { command } = JSON.parse((await retinue(home, args)).stdout) as Plan;
    expect(command.slice(-4)).toEqual(["--json", agent.agentId, "--", "-x"]);
  });

  it("is printed for a shell, and nothing is written", async () => {
    const { home, agent } = await deepest("claude", "c-nested");
    const data = join(folder, "data");
    const { stdout, stderr } = await retinue(home, ["attach", agent.uri, "--print-command", "--with", "it's"], {
      RETINUE_HOME: data,
    });
    expect(stdout).toMatch(
      /^cd \S+ && claude 'it'\\''s' -p --resume \S+\.jsonl --fork-session --agent general-purpose --model claude-opus-5-5\n$/,
    );
    expect(stderr).toContain(`continues ${agent.uri} as a new session from a copy of 14 records`);
    expect(existsSync(join(data, "attached"))).toBe(false);
  });
});

describe("names from records", () => {
  it("are arguments only if they cannot be taken for options or text", () => {
    expect(["general-purpose", "plugin:reviewer", "claude-opus-5-5[1m]", "us.anthropic/x@1"].map(nameIn)).not.toContain(
      null,
    );
    for (const name of ["--dangerously-skip-permissions", "-x", "a b", "a\nb", "\u001b[31m", "", "x".repeat(300), null])
      expect(nameIn(name)).toBeNull();
  });
});

describe("a history that the product cannot cut", () => {
  it("becomes text up to the event", async () => {
    const { home, agent } = await deepest("codex", "v2-nested");
    const plan = await planOf(home, agent.uri, "--at", "1");
    expect(plan.begins).toBe("text");
    expect(plan.notes.join()).toContain("Codex can only fork a thread at its end");
  });
});

describe("refusals", () => {
  const refused = async (...args: string[]) => {
    const { home } = recordedHome("claude", "a-single");
    const { code, stderr, stdout } = await retinue(home, ["attach", ...args]);
    expect(stdout).toBe("");
    return { code, stderr };
  };

  it("without a terminal, a message is needed", async () => {
    const { code, stderr } = await refused("latest");
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("--with") });
  });

  it("an event must exist and be a record", async () => {
    const unknown = await refused("latest", "--with", "x", "--at", "nowhere.jsonl:3#0");
    expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("no event nowhere.jsonl:3#0") });
    const { home } = recordedHome("claude", "a-single");
    const { stdout } = await retinue(home, ["events", "latest"]);
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { kind: string; seq: number });
    const spawn = events.find(({ kind }) => kind === "spawn");
    const derived = await refused("latest", "--with", "x", "--at", String(spawn?.seq));
    expect(derived).toMatchObject({ code: 2, stderr: expect.stringContaining("a spawn event is not a record") });
  });

  it("a folder must exist", async () => {
    const { code, stderr } = await refused("latest", "--with", "x", "--in", join(folder, "none"));
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("no folder") });
  });

  it("a product that is not installed is named, with what to do", async () => {
    const { home } = recordedHome("claude", "a-single");
    const args = ["attach", "latest", "--with", "x", "--in", folder];
    const { code, stderr } = await retinue(home, args, { PATH: folder });
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining("claude cannot be started") });
    expect(stderr).toContain("install Claude Code");
  });
});
