import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";

const NESTED = recordedHome("claude", "c-nested").home;
const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const [L1, L2, L3] = ["ae44c39a3d06e6efb", "aee8a9e31692ee37b", "a06b55e9d9f2be101"];
const FORKS = recordedHome("claude", "h-resume").home;

describe("naming a thread or an agent", () => {
  it.each([
    ["the canonical form", `claude://${THREAD}`],
    ["with agents://", `agents://claude/${THREAD}`],
    ["with threads/", `claude://threads/${THREAD}`],
    ["a bare id", THREAD],
    ["a prefix", "cd09e4"],
    ["latest", "latest"],
    ["latest of a provider", "claude://latest"],
  ])("%s", async (_what, words) => {
    expect(((await retinueJson(NESTED, ["tree", words])) as AgentTree).uri).toBe(`claude://${THREAD}`);
  });

  it.each([
    ["the canonical form", `claude://${THREAD}/${L2}`],
    ["prefixes of both ids", `cd09e48c/${L2.slice(0, 6)}`],
    ["an agent of the latest thread", `latest/${L2}`],
  ])("an agent by %s", async (_what, words) => {
    const found = (await retinueJson(NESTED, ["tree", words])) as AgentTree;
    expect({ uri: found.uri, children: found.children.map((c) => c.agentId) }).toEqual({
      uri: `claude://${THREAD}/${L2}`,
      children: [L3],
    });
  });
});

describe("wrong arguments exit with 2, with one line for the error and one for the correct usage", () => {
  it.each([
    ["unknown scheme", ["foo://abc"], /unknown scheme foo/, /claude:\/\//],
    ["empty part", ["claude://"], /empty part in URI/, /<provider>:\/\/<thread>/],
    ["more than two parts", [`claude://${THREAD}/a/b`], /more than two parts/, /<provider>:\/\/<thread>/],
    ["query", [`claude://${THREAD}?x=1`], /cannot have a query or fragment/, /<provider>:\/\/<thread>/],
    ["fragment", [`claude://${THREAD}#x`], /cannot have a query or fragment/, /<provider>:\/\/<thread>/],
    ["path traversal", [`claude://${THREAD}/..`], /cannot contain \. or \.\./, /<provider>:\/\/<thread>/],
    ["control characters", [`claude://${THREAD}\u0007`], /control characters/, /<provider>:\/\/<thread>/],
    ["an invalid id", ["claude://not-an-id!"], /cannot be a thread id/, /UUID/],
    ["a prefix that is too short", ["claude://cd09"], /cannot be a thread id|6 characters/, /UUID/],
    ["two URIs", ["latest", "latest"], /too many arguments/, /usage: retinue/],
    ["unknown flag", ["--list"], /unknown option '--list'/, /usage: retinue/],
    ["unknown flag of a command", ["tree", "latest", "--list"], /unknown option '--list'/, /usage: retinue tree/],
    ["--head with a command", ["-I", "tree", "latest"], /--head cannot be used with tree/, /retinue --head <uri>/],
    ["-I after a command", ["tree", "-I", "latest"], /unknown option '-I'/, /usage: retinue tree/],
    ["--head of nothing", ["--head"], /--head needs a URI/, /retinue --head <uri>/],
    ["a mistyped command", ["tre"], /neither a command nor a URI/, /did you mean: retinue tree/],
    ["an unknown command with an argument", ["foo", "bar"], /unknown command "foo"/, /commands: .*\btree\b/],
    [
      "a mistyped command with arguments",
      ["--json", "serch", "two", "words"],
      /unknown command "serch"/,
      /did you mean: retinue search/,
    ],
    [
      "a mistyped command with a URI and an option",
      ["tre", `claude://${THREAD}`, "--all"],
      /unknown command "tre"/,
      /did you mean: retinue tree/,
    ],
    ["two URIs of which one is a prefix", ["cd09e4", "latest"], /too many arguments/, /usage: retinue/],
    ["a missing argument", ["tree"], /missing required argument/, /usage: retinue tree/],
    ["an invalid limit", ["ls", "--limit", "many"], /--limit many/, /positive integer/],
    ["an unknown provider", ["ls", "--provider", "nobody"], /Allowed choices are .*claude/, /usage: retinue ls/],
    ["an invalid time", ["ls", "--since", "soon"], /not a time/, /2h/],
  ])("%s", async (_what, args, wrong, right) => {
    const { code, stdout, stderr } = await retinue(NESTED, args);
    const lines = stderr.trimEnd().split("\n");
    expect({ code, stdout, lines: lines.length }).toEqual({ code: 2, stdout: "", lines: 2 });
    expect(lines[0]).toMatch(wrong);
    expect(lines[1]).toMatch(right);
  });
});

describe("a missing thread or agent exits with 1, with the places searched and a suggestion", () => {
  it("an unknown thread", async () => {
    const { code, stderr } = await retinue(NESTED, ["tree", "0123456789ab"]);
    expect(code).toBe(1);
    expect(stderr).toContain(`searched: ${NESTED}/.claude`);
    expect(stderr).toContain("next: retinue ls");
  });
  it("an ambiguous prefix lists its matches", async () => {
    const { code, stderr } = await retinue(twoOfOnePrefix(), ["tree", "aaaaaa"]);
    expect({ code, listed: stderr.match(/claude:\/\/aaaaaa/g)?.length }).toEqual({ code: 1, listed: 2 });
  });
  it("an agent of another thread names its correct URI", async () => {
    const { code, stderr } = await retinue(FORKS, [
      "tree",
      "claude://fe8493ed-6d6e-4d43-8254-13b9eaefaa38/a68e374f02b51de37",
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain("claude://a79349dc-e41f-4764-94d3-8896bc9688d2/a68e374f02b51de37");
  });
  it("an agent's id alone suggests the URI of the agent", async () => {
    const { code, stderr } = await retinue(NESTED, ["tree", L2]);
    expect(code).toBe(1);
    expect(stderr).toContain(`claude://${THREAD}/${L2}`);
  });
  it("a machine without threads", async () => {
    const { code, stdout, stderr } = await retinue(scratch, ["ls", "--json"]);
    expect({ code, list: JSON.parse(stdout) }).toEqual({ code: 1, list: [] });
    expect(stderr).toContain("(not found)");
    expect(stderr).toContain("next: retinue demo");
  });
});

describe("frontmatter", () => {
  it("of a thread lists the agents of all levels in one flat list", async () => {
    const { stdout } = await retinue(NESTED, ["--head", "latest"]);
    const [, yaml = "", rest] = stdout.split("---\n");
    expect(rest).toBe("");
    const head = parse(yaml) as { subagents: { agent_id: string; parent: string }[] };
    expect(Object.keys(head)).toEqual([
      "uri",
      "thread_source",
      "provider",
      "session_id",
      "mode",
      "status",
      "status_source",
      "subagents",
    ]);
    expect(head.subagents.map((s) => [s.agent_id, s.parent.split("/").at(-1)])).toEqual([
      [L1, THREAD],
      [L2, L1],
      [L3, L2],
    ]);
    expect(Object.keys(head.subagents[0] ?? {})).toEqual([
      "agent_id",
      "uri",
      "parent",
      "type",
      "status",
      "status_source",
      "last_update",
      "thread_source",
    ]);
  });
  it("of an agent is followed by its three sections in order", async () => {
    const { stdout } = await retinue(NESTED, [`latest/${L2}`]);
    const head = parse(stdout.split("---\n")[1] ?? "") as object;
    expect(Object.keys(head)).toEqual([
      "uri",
      "thread_source",
      "provider",
      "session_id",
      "mode",
      "agent_id",
      "parent",
      "status",
      "status_source",
    ]);
    expect([...stdout.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
      "Agent Status Summary",
      "Lifecycle (Parent Thread)",
      "Thread Excerpt (Child Thread)",
    ]);
  });
  it("of a thread is followed by its body", async () => {
    const { stdout } = await retinue(NESTED, ["latest"]);
    expect(stdout).toMatch(
      /^---\nuri: claude:\/\/cd09e48c[\s\S]*mode: thread\nstatus: completed\nstatus_source: \w+\n---\n\n# Thread\n/,
    );
    expect(stdout).toContain(`claude://${THREAD}/${L1}: Level L1`);
  });
});

describe("records and events", () => {
  it("ls prints root records without children", async () => {
    const list = (await retinueJson(FORKS, ["ls"])) as AgentRecord[];
    expect(list.map((r) => [r.schema, r.agentId, "children" in r, r.counts.descendants])).toEqual([
      ["retinue/agent@1", null, false, 1],
      ["retinue/agent@1", null, false, 2],
    ]);
    expect(list[0]?.forkedFrom).toBe("claude://fe8493ed-6d6e-4d43-8254-13b9eaefaa38");
  });
  it("the usage of a tree is the sum of own, internal and the subtrees of its children", async () => {
    const root = (await retinueJson(recordedHome("claude", "v2.0.76").home, ["tree", "latest"])) as AgentTree;
    const sum = (t: AgentTree): number =>
      t.usage.own.inputTokens + (t.usage.internal?.inputTokens ?? 0) + t.children.reduce((n, c) => n + sum(c), 0);
    expect(root.usage.internal?.calls).toBe(2);
    expect(root.usage.subtree.inputTokens).toBe(sum(root));
    expect(root.usage.subtree.costUsd).toBeGreaterThan(root.usage.own.costUsd ?? 0);
  });
  it("cost equals the product's own total to the last significant digit", async () => {
    const root = (await retinueJson(NESTED, ["tree", "latest"])) as AgentTree;
    expect(root.usage.subtree.costUsd).toBeCloseTo(0.04807, 10);
  });
  it("an unknown price makes the sum unknown, not smaller", async () => {
    const root = (await retinueJson(recordedHome("claude", "i-custom").home, ["tree", "latest"])) as AgentTree;
    expect(root.children.map((c) => [c.model[0], c.usage.own.costUsd === null])).toContainEqual([
      "claude-haiku-5-5",
      true,
    ]);
    expect(root.usage.subtree.costUsd).toBeNull();
  });
  it("events are NDJSON in order of time, with the spawn and with the tokens of each response once", async () => {
    const { stdout } = await retinue(NESTED, ["events", "latest", "--subtree"]);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as AgentEvent);
    const times = events.map((e) => e.at ?? "");
    expect(times).toEqual([...times].sort());
    expect(new Set(events.map((e) => e.id)).size).toBe(events.length);
    const output = events.reduce((sum, e) => sum + (e.usage?.outputTokens ?? 0), 0);
    const tree = (await retinueJson(NESTED, ["tree", "latest"])) as AgentTree;
    expect(output).toBe(tree.usage.subtree.outputTokens);
    expect(
      events.filter((e) => e.kind === "spawn").map((e) => [e.spawn?.agentId, e.spawn?.depth, e.spawn?.prompt]),
    ).toEqual([
      [L1, 1, "Go deeper. @@L1"],
      [L2, 2, "Go deeper. @@L2"],
      [L3, 3, "Go deeper. @@L3"],
    ]);
    const own = events.filter((e) => e.uri.endsWith(L3));
    expect(own.map((e) => e.seq)).toEqual(own.map((_, i) => i + 1));
    expect(own.map((e) => e.kind)).toEqual(["user", "toolCall", "toolResult", "assistant", "status"]);
    expect(own[1]?.ref).toEqual({ path: expect.stringContaining(`agent-${L3}.jsonl`), line: expect.any(Number) });
  });
  it("a forked thread's events do not include copied records", async () => {
    const { stdout } = await retinue(FORKS, ["events", "claude://a79349dc"]);
    expect(stdout).toContain("Third, forked.");
    expect(stdout).not.toContain("First. @@main");
  });
});

describe("why", () => {
  it("names the deciding evidence and all other evidence, each with its place", async () => {
    const found = (await retinueJson(NESTED, ["why", `latest/${L3}`])) as {
      parentEvidence: { decided: boolean; rule: string; from: string }[];
      status: { statusReason: string };
    };
    expect(found.parentEvidence.map((e) => [e.decided, e.rule])).toEqual([
      [true, "meta.parentAgentId"],
      [false, "meta.toolUseId"],
      [false, "tool_result text"],
      [false, "sessionId"],
    ]);
    expect(found.parentEvidence[0]?.from).toContain(`agent-${L3}.meta.json`);
    const { stdout } = await retinue(NESTED, ["why", `latest/${L3}`]);
    expect(stdout).toContain("→ decided  meta.parentAgentId · protocol · confidence 1");
  });
});

describe("stats", () => {
  it("adds up to the sums of the trees for every grouping", async () => {
    const all = (await retinueJson(FORKS, ["stats"])) as Record<
      string,
      { agents: number; usage: { calls: number; inputTokens: number; costUsd: number } }[]
    >;
    const list = (await retinueJson(FORKS, ["ls"])) as AgentRecord[];
    const want = {
      agents: list.reduce((n, r) => n + 1 + r.counts.descendants, 0),
      calls: list.reduce((n, r) => n + r.usage.subtree.calls, 0),
      tokens: list.reduce((n, r) => n + r.usage.subtree.inputTokens, 0),
    };
    expect(Object.keys(all)).toEqual(["day", "model", "type", "project", "template"]);
    for (const lines of Object.values(all)) {
      const sum = {
        agents: lines.reduce((n, l) => n + l.agents, 0),
        calls: lines.reduce((n, l) => n + l.usage.calls, 0),
        tokens: lines.reduce((n, l) => n + l.usage.inputTokens, 0),
      };
      expect(sum).toEqual(want);
    }
  });
  it("counts failures, and marks a cost with a missing price as a lower bound", async () => {
    const { stdout } = await retinue(recordedHome("claude", "e-fail").home, ["stats", "--by", "type"]);
    expect(stdout).toMatch(/general-purpose +4 +3/);
    expect((await retinue(recordedHome("claude", "i-custom").home, ["stats", "--by", "project"])).stdout).toMatch(
      /≥ \$0\.0/,
    );
  });
  it("rejects an unknown grouping", async () => {
    expect((await retinue(FORKS, ["stats", "--by", "mood"])).code).toBe(2);
  });
});

describe("search", () => {
  const found = async (...words: string[]) =>
    JSON.parse((await retinue(NESTED, ["search", "--json", ...words])).stdout) as {
      uri: string;
      kind: string;
      snippet: string;
      marks: [number, number][];
      ref: { line: number };
    }[];

  it("finds texts and their agents, and shows the texts as recorded", async () => {
    const [hit, ...more] = await found("at", "level", "3");
    expect(more).toEqual([]);
    expect(hit).toMatchObject({
      uri: `claude://${THREAD}/${L3}`,
      kind: "toolCall",
      snippet: expect.stringContaining("echo at level 3"),
    });
    expect(hit?.marks.map(([a, b]) => hit.snippet.slice(a, b))).toEqual(expect.arrayContaining(["at", "level", "3"]));
  });
  it("treats the last word as incomplete, and requires all words", async () => {
    expect((await found("deep")).map((h) => h.kind)).toContain("user");
    expect((await retinue(NESTED, ["search", "deeper", "nonsense"])).code).toBe(1);
  });
  it.each([["*"], ['"'], ["NEAR("], ["a-b:c^d"], ["OR"], ["'; DROP TABLE said; --"]])(
    "%s is plain text, not query syntax",
    async (words) => {
      const { code, stderr } = await retinue(NESTED, ["search", words]);
      expect([1, 2]).toContain(code);
      expect(stderr).not.toContain("bug");
    },
  );
  it("does not search tool results, and mentions it", async () => {
    const { code, stderr } = await retinue(recordedHome("claude", "a-single").home, ["search", "alpha"]);
    expect({ code, reported: stderr.includes("tool results are not searched") }).toEqual({ code: 1, reported: true });
  });
});

describe("manual links", () => {
  it("override the records, are shown as manual, and can be removed", async () => {
    const env = { RETINUE_HOME: join(scratch, "kept") };
    const run = (...args: string[]) => retinue(NESTED, args, env);
    expect((await run("link", `latest/${L3}`, "latest")).code).toBe(0);
    const moved = JSON.parse((await run("tree", "latest", "--json")).stdout) as AgentTree;
    const child = moved.children.find((c) => c.agentId === L3);
    expect(child?.link).toMatchObject({ rule: "manual", source: "manual", confidence: 1 });
    expect(child?.link?.evidence.length).toBeGreaterThan(3);
    const circle = await run("link", `latest/${L1}`, `latest/${L2}`);
    expect({ code: circle.code, reported: circle.stderr.includes("cycle") }).toEqual({ code: 1, reported: true });
    expect((await run("unlink", `latest/${L3}`)).stdout).toContain(L2);
    expect((await run("unlink", `latest/${L3}`)).code).toBe(1);
  });
});

it("tree creates an index, which can be deleted, and no other file", async () => {
  const data = join(scratch, "data");
  const tree = () => retinue(NESTED, ["tree", "latest"], { RETINUE_HOME: data });
  const first = await tree();
  expect(readdirSync(data)).toEqual(["index.sqlite"]);
  rmSync(data, { recursive: true });
  expect((await tree()).stdout).toBe(first.stdout);
});

describe("terminal output", () => {
  it("has no colours if piped, colours on request, and none with --no-color", async () => {
    const coloured = async (args: string[], env = {}) =>
      (await retinue(NESTED, ["tree", "latest", ...args], env)).stdout.includes("\u001b[");
    expect([
      await coloured([]),
      await coloured([], { FORCE_COLOR: "1" }),
      await coloured(["--no-color"], { FORCE_COLOR: "1" }),
      await coloured([], { FORCE_COLOR: "1", NO_COLOR: "1" }),
    ]).toEqual([false, true, false, false]);
  });
  it.each([40, 60, 80, 120])("fits into a terminal of %i columns", async (columns) => {
    const { stdout } = await retinue(recordedHome("claude", "e-fail").home, ["tree", "latest"], {
      COLUMNS: String(columns),
    });
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(stdout).toContain("✖ errored");
  });
  it("of doctor counts unusable input, with examples", async () => {
    const { stdout } = await retinue(join(scratch, "broken"), ["doctor"]);
    expect(stdout).toContain("line-not-json ×1");
    expect(stdout).toContain("record-unknown ×1");
    expect(stdout).toContain("line-unfinished ×1");
    expect(stdout).toContain("agent-file-foreign ×1");
    expect(stdout).toMatch(/1 thread with 0 agents/);
  });

  it("of doctor includes what the operating system reports about running agents", async () => {
    const { stdout } = await retinue(join(scratch, "broken"), ["doctor"]);
    expect(stdout).toContain(
      `How running agents are detected on ${process.platform}\n  processes    number and start time of each process, from `,
    );
  });
});

const scratch = mkdtempSync(join(tmpdir(), "retinue-commands-"));
beforeAll(() => {
  const project = join(scratch, "broken", ".claude", "projects", "p");
  cpSync(NESTED, join(scratch, "broken"), { recursive: true });
  rmSync(join(scratch, "broken", ".claude", "projects"), { recursive: true });
  cpSync(
    join(NESTED, ".claude/projects/-home-dev-trial-runs-c-nested-repo", THREAD, "subagents", `agent-${L1}.jsonl`),
    join(project, FOREIGN, "subagents", "agent-abc.jsonl"),
  );
  writeFileSync(join(project, `${FOREIGN}.jsonl`), BROKEN);
});
afterAll(() => rmSync(scratch, { recursive: true }));

const FOREIGN = "11111111-1111-4111-8111-111111111111";
const BROKEN = [
  `{"type":"user","uuid":"3f0c2f0e-0000-4000-8000-000000000001","isSidechain":false,"sessionId":"${FOREIGN}","timestamp":"2026-11-15T21:00:00.000Z","message":{"role":"user","content":"hello"}}`,
  "{ this is not JSON",
  `{"type":"from-the-future","sessionId":"${FOREIGN}"}`,
  '{"type":"assistant","mess',
].join("\n");

/** Two threads whose ids have a common prefix. */
function twoOfOnePrefix(): string {
  const home = join(scratch, "twins");
  const project = join(home, ".claude", "projects", "p");
  cpSync(join(scratch, "broken", ".claude", "projects", "p"), project, { recursive: true });
  for (const id of ["aaaaaaaa-1111-4111-8111-111111111111", "aaaaaabb-1111-4111-8111-111111111111"])
    writeFileSync(
      join(project, `${id}.jsonl`),
      BROKEN.replaceAll(FOREIGN, id).replaceAll("000000000001", id.slice(0, 8).padEnd(12, "0")),
    );
  return home;
}
