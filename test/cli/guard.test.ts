/** Limits by hooks, in processes as an agent starts them, and `retinue guard`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hookProblems } from "../../src/app/guard/examine.ts";
import { treeSeen, writeTreeSeen } from "../../src/app/guard/ledger-file.ts";
import { withGiven } from "../../src/app/guard/limits-file.ts";
import { type GuardReport, limitEvents, tidyLedgers } from "../../src/app/guard/report.ts";
import { guardRun } from "../../src/app/guard/run.ts";
import { feedTrees, ledgerOfThread, treeSeenOf } from "../../src/app/guard/tree-feed.ts";
import { hook } from "../../src/app/hooks/hook.ts";
import { readMachine } from "../../src/app/machine.ts";
import { limitsGiven } from "../../src/cli/limit-option.ts";
import { totalTokens } from "../../src/core/facts/usage.ts";
import type { Limits } from "../../src/core/guard/limits.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { COMPILED, MAIN, retinue, retinueJson } from "../support/cli.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { homeWith } from "../support/limited-home.ts";

const SESSION = "b7ee73a5-27dd-4edd-9153-75b0a97a7d14";
const spawnPayload = (call: string, more: object = {}) =>
  JSON.stringify({
    session_id: SESSION,
    transcript_path: `/nowhere/projects/-tmp/${SESSION}.jsonl`,
    cwd: "/home/dev/shop",
    hook_event_name: "PreToolUse",
    tool_name: "Agent",
    tool_input: { description: `Task ${call}`, prompt: "Do it.", subagent_type: "Explore" },
    tool_use_id: call,
    ...more,
  });
const rollout = `/nowhere/sessions/2026/11/17/rollout-2026-11-17T10-00-00-${SESSION}.jsonl`;

interface Printed {
  readonly systemMessage?: string;
  readonly hookSpecificOutput: { readonly permissionDecision?: string; readonly permissionDecisionReason?: string };
}

/** What a hook prints; null for nothing. */
async function inProcess(env: Readonly<Record<string, string>>, payload: string): Promise<Printed | null> {
  let printed = "";
  await hook(
    env,
    () => payload,
    (text) => {
      printed += text;
    },
  );
  return printed === "" ? null : (JSON.parse(printed) as Printed);
}

async function asProcess(env: Readonly<Record<string, string>>, payload: string): Promise<string> {
  const child = spawn(process.execPath, [MAIN, "hook"], { env: { PATH: process.env.PATH ?? "", ...COMPILED, ...env } });
  let output = "";
  child.stdout.on("data", (part: Buffer) => {
    output += part;
  });
  child.stdin.end(payload);
  const [code] = (await once(child, "close")) as [number];
  expect(code).toBe(0);
  return output;
}

const THREE = "limits:\n  agents: { max: 3, action: deny }\n";
const isDenied = (printed: Printed | null) => printed?.hookSpecificOutput.permissionDecision === "deny";

describe("retinue hook with limits", () => {
  it("starts exactly three of ten agents that ten processes ask for at once, also if each call is repeated", async () => {
    const env = homeWith(THREE);
    const calls = Array.from({ length: 10 }, (_, i) => `toolu_${i}`);
    const first = await Promise.all(calls.map((call) => asProcess(env, spawnPayload(call))));
    const second = await Promise.all(calls.map((call) => asProcess(env, spawnPayload(call))));
    const denied = first.map((output) => output.includes('"deny"'));
    expect(denied.filter((one) => one)).toHaveLength(7);
    expect(second.map((output) => output.includes('"deny"'))).toEqual(denied);
  });

  it("says why, and what the model may do instead", async () => {
    const env = homeWith("limits:\n  agents: { max: 0 }\n");
    expect(await inProcess(env, spawnPayload("a"))).toEqual({
      hookSpecificOutput: {
        hookEventName: "PreToolUse",
        permissionDecision: "deny",
        permissionDecisionReason: expect.stringMatching(/^retinue: this agent was not started, because .* yourself/),
      },
    });
  });

  it("warns, and the call is made", async () => {
    const env = homeWith("limits:\n  agents: { max: 0, action: warn }\n");
    const printed = await inProcess(env, spawnPayload("a"));
    expect(printed?.systemMessage).toMatch(/a limit is exceeded/);
    expect(isDenied(printed)).toBe(false);
  });

  it("refuses in Codex, too", async () => {
    const env = homeWith("limits:\n  by_product:\n    codex:\n      agents: { max: 1 }\n");
    const payload = (call: string) =>
      spawnPayload(call, { transcript_path: rollout, tool_name: "collaborationspawn_agent" });
    expect(isDenied(await inProcess(env, payload("call_1")))).toBe(false);
    expect(isDenied(await inProcess(env, payload("call_2")))).toBe(true);
    expect(isDenied(await inProcess(env, spawnPayload("toolu_1")))).toBe(false);
  });

  it("knows the depth of the caller from the product's own files", async () => {
    const env = homeWith("limits:\n  depth: { max: 2 }\n");
    const folder = join(env.HOME, "projects/-tmp", SESSION, "subagents");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "agent-a1.meta.json"), '{"spawnDepth":1}');
    writeFileSync(join(folder, "agent-a2.meta.json"), '{"spawnDepth":2}');
    const transcript_path = join(env.HOME, `projects/-tmp/${SESSION}.jsonl`);
    const by = (agent_id: string) => spawnPayload(agent_id, { transcript_path, agent_id });
    expect(isDenied(await inProcess(env, by("a1")))).toBe(false);
    expect(isDenied(await inProcess(env, by("a2")))).toBe(true);
  });

  it.each([
    ["are not YAML", "limits: [what"],
    ["have an unknown limit", "limits:\n  agent: { max: 0 }\n"],
    ["have no limits", "stale_after: 1h\n"],
    ["have limits of another project only", "limits:\n  by_project:\n    /srv: { agents: { max: 0 } }\n"],
  ])("prints nothing if the settings %s", async (_, settings) => {
    expect(await inProcess(homeWith(settings), spawnPayload("a"))).toBeNull();
  });

  it("follows changed settings", async () => {
    const env = homeWith(THREE);
    expect(await inProcess(env, spawnPayload("a"))).toBeNull();
    writeFileSync(join(env.HOME, ".config/retinue/config.yaml"), "limits:\n  agents: { max: 1, action: deny }\n");
    expect(isDenied(await inProcess(env, spawnPayload("b")))).toBe(true);
    rmSync(join(env.HOME, ".config/retinue/config.yaml"));
    expect(await inProcess(env, spawnPayload("c"))).toBeNull();
  });

  const BROKEN: readonly (readonly [string, (path: string) => void])[] = [
    [
      "a folder",
      (path) => {
        rmSync(path, { force: true });
        mkdirSync(path, { recursive: true });
      },
    ],
    ["too large", (path) => writeFileSync(path, " ".repeat(5 << 20))],
  ];
  const ledgerPath = (env: { readonly RETINUE_HOME: string }) =>
    join(env.RETINUE_HOME, `guard/claude/${SESSION}.jsonl`);

  it.each(BROKEN)("lets the call be made if its ledger is %s, and guard reports it", async (_, breakIt) => {
    const env = homeWith("limits:\n  agents: { max: 1 }\n  concurrent: { max: 1 }\n");
    mkdirSync(join(env.RETINUE_HOME, "guard/claude"), { recursive: true });
    breakIt(ledgerPath(env));
    for (const call of ["a", "b"]) expect(await inProcess(env, spawnPayload(call))).toBeNull();
    expect((await retinue(env.HOME, ["guard"], env)).stdout).toMatch(/limits were not enforced: /);
  });

  it.each(BROKEN)("refuses a spawn beyond a count that was reached before its ledger was %s", async (_, breakIt) => {
    const env = homeWith(`${THREE}  by_type:\n    Plan:\n      agents: { max: 1 }\n`);
    const plan = (call: string) => spawnPayload(call, { tool_input: { description: call, subagent_type: "Plan" } });
    for (const call of ["a", "b"])
      expect(await inProcess(env, plan(call))).toEqual(call === "a" ? null : expect.anything());
    for (const call of ["c", "d"]) expect(await inProcess(env, spawnPayload(call))).toBeNull();
    breakIt(ledgerPath(env));
    expect(isDenied(await inProcess(env, plan("e")))).toBe(true);
    // The thread had three agents, but no spawn had been refused because of that.
    expect(await inProcess(env, spawnPayload("f"))).toBeNull();
    rmSync(ledgerPath(env), { recursive: true });
    for (const call of ["a", "b", "c", "d"]) await inProcess(env, spawnPayload(call));
    breakIt(ledgerPath(env));
    expect(isDenied(await inProcess(env, spawnPayload("g")))).toBe(true);
    writeFileSync(join(env.HOME, ".config/retinue/config.yaml"), "limits:\n  agents: { max: 9 }\n");
    expect(await inProcess(env, spawnPayload("h"))).toBeNull();
  });

  it("counts a spawn with a prompt of 5 MiB, and descriptions and types of a megabyte do not fill its ledger", async () => {
    const env = homeWith(THREE);
    const long = "long ".repeat(300_000);
    const input = { description: long, subagent_type: long, prompt: "p".repeat(5 << 20) };
    const answers: (Printed | null)[] = [];
    for (let i = 0; i < 5; i += 1)
      answers.push(await inProcess(env, spawnPayload(`toolu_${i}`, { tool_input: input })));
    expect(answers.map(isDenied)).toEqual([false, false, false, true, true]);
    expect(readFileSync(ledgerPath(env)).length).toBeLessThan(50_000);
  });

  it("counts calls with long ids that begin alike, each once", async () => {
    const env = homeWith(THREE);
    const calls = [1, 2, 3, 4].map((n) => `${"c".repeat(5_000)}${n}`);
    for (const call of [...calls, ...calls])
      expect(isDenied(await inProcess(env, spawnPayload(call)))).toBe(call.endsWith("4"));
  });
});

describe("what the tree shows", () => {
  it("is written with types of a limited length", async () => {
    const env = homeWith("");
    cpSync(join(FIXTURES, "claude/k-hooks/home"), env.HOME, { recursive: true });
    const { library } = await readMachine({ env });
    const [root] = library.threadRows({ limit: 1 });
    if (root === undefined) throw new Error("no thread");
    const tree = treeOf(library.forestOf([root.place.key]), root.place.key, library.price);
    const [child] = tree.children;
    if (child === undefined) throw new Error("no agent");
    const seen = treeSeenOf({ ...tree, children: [{ ...child, type: "x".repeat(2_000_000) }] });
    expect(JSON.stringify(seen).length).toBeLessThan(10_000);
  });

  it("is known to hooks: a thread that has used its tokens spawns no more agents", async () => {
    const env = homeWith("limits:\n  tokens: { max: 1000 }\n");
    expect(await inProcess(env, spawnPayload("a"))).toBeNull();
    writeTreeSeen(env, { provider: "claude", thread: SESSION }, { costUsd: null, tokens: 1500, agents: [] });
    const printed = await inProcess(env, spawnPayload("b"));
    expect(printed?.hookSpecificOutput.permissionDecisionReason).toMatch(
      /has used 1\.5k tokens, and its limit is 1\.0k/,
    );
  });

  it("is written with the usage and the calls of every agent", async () => {
    const env = homeWith("");
    cpSync(join(FIXTURES, "claude/k-hooks/home"), env.HOME, { recursive: true });
    const { library } = await readMachine({ env });
    const [root] = library.threadRows({ limit: 1 });
    if (root === undefined) throw new Error("no thread");
    feedTrees(env, library, [root.place.key]);
    const seen = treeSeen(env, ledgerOfThread(root.place.key));
    const { usage, counts } = root.record;
    expect(seen?.tokens).toBe(totalTokens(usage.subtree));
    expect(seen?.agents).toHaveLength(counts.descendants);
    for (const { call, running, tokens } of seen?.agents ?? []) {
      expect(call).toMatch(/^toolu_/);
      expect([running, (tokens ?? 0) > 0]).toEqual([false, true]);
    }
  });

  it("and what was counted is removed after a month", async () => {
    const env = homeWith(THREE);
    await inProcess(env, spawnPayload("a"));
    tidyLedgers(env, Date.now());
    expect(existsSync(join(env.RETINUE_HOME, `guard/claude/${SESSION}.jsonl`))).toBe(true);
    tidyLedgers(env, Date.now() + 31 * 24 * 3_600_000);
    expect(existsSync(join(env.RETINUE_HOME, `guard/claude/${SESSION}.jsonl`))).toBe(false);
  });
});

describe("--limit", () => {
  it("sets limits of one command, which replace those of the settings", () => {
    const given = limitsGiven(["agents=3", "cost_usd=0.5:warn"]);
    expect(given).toEqual({ agents: { max: 3, action: "deny" }, cost_usd: { max: 0.5, action: "warn" } });
    const five = { max: 5, action: "deny" } as const;
    const settings = { agents: five, depth: five, by_project: { "/srv": { agents: five, tokens: five } } };
    expect(withGiven(settings, given)).toEqual({
      ...given,
      depth: five,
      by_project: { "/srv": { tokens: five } },
    });
    expect(limitsGiven(undefined)).toBeNull();
  });

  it.each([
    ["agent=3", "did you mean: --limit agents=…"],
    ["agents", "names: agents, concurrent"],
    ["agents=", "write a number after ="],
    ["agents=-1", "write a number after ="],
    ["agents=3:stop", "write warn or deny"],
  ])("refuses %s", (text, next) => {
    expect(() => limitsGiven([text])).toThrow(
      expect.objectContaining({ code: "usage", next: [expect.stringContaining(next)] }),
    );
  });
});

describe("a wrapped run", () => {
  const guard = { spawnOf: () => ({ type: "x", description: null }), noticesIn: () => null };
  const call = (callId: string, isSpawn: boolean) => ({
    callId,
    tool: "T",
    input: {},
    isSpawn,
    sessionId: SESSION,
    agentId: null,
    agentType: null,
    uri: `claude://${SESSION}`,
    cwd: null,
  });

  it("warns once about what is spent, and denies every call beyond it", async () => {
    const env = homeWith("");
    const warnings: string[] = [];
    const of = (action: "warn" | "deny") =>
      guardRun(
        env,
        { tokens: { max: 10, action } },
        { provider: "claude", guard, warn: (text) => warnings.push(text) },
      );
    writeTreeSeen(env, { provider: "claude", thread: SESSION }, { costUsd: null, tokens: 20, agents: [] });
    for (const id of ["a", "b"]) expect(await of("warn").interceptor.decide(call(id, false))).toBe("allow");
    expect(warnings).toHaveLength(1);
    for (const id of ["c", "d"])
      expect(await of("deny").interceptor.decide(call(id, false))).toEqual({
        deny: expect.stringContaining("this call was not made"),
      });
    expect(limitEvents(env)).toHaveLength(2);
  });

  it("is asked about other calls only if a limit depends on them", () => {
    const asks = (limits: Limits) =>
      guardRun({}, limits, { provider: "claude", guard, warn: () => {} }).interceptor.spawnsOnly !== true;
    expect(asks({ agents: { max: 1, action: "deny" } })).toBe(false);
    expect(asks({ by_type: { x: { minutes: { max: 1, action: "deny" } } } })).toBe(true);
  });
});

describe("a refused spawn", () => {
  it("is shown on the agent that made the call, and is no agent", async () => {
    const env = homeWith("limits:\n  agents: { max: 1 }\n");
    await inProcess(
      env,
      JSON.stringify({ session_id: SESSION, hook_event_name: "UserPromptSubmit", prompt: "Begin." }),
    );
    for (const call of ["toolu_1", "toolu_2"]) await inProcess(env, spawnPayload(call));
    const uri = `claude://${SESSION}`;
    const tree = (await retinueJson(env.HOME, ["tree", uri], env)) as {
      children: unknown[];
      refused: { toolCallId: string; type: string; description: string; reason: string }[];
      counts: { refused: number };
    };
    expect(tree.children).toHaveLength(1);
    expect(tree.counts.refused).toBe(1);
    expect(tree.refused).toMatchObject([{ toolCallId: "toolu_2", type: "Explore", description: "Task toolu_2" }]);
    expect((await retinue(env.HOME, ["tree", uri], env)).stdout).toMatch(/Task toolu_2 .*⊘ refused/);
    const why = (await retinue(env.HOME, ["why", uri], env)).stdout;
    expect(why).toMatch(/refused: 1 spawn call/);
    expect(why).toMatch(/this thread already has 1 agent, and its limit is 1/);
  });
});

describe("retinue guard", () => {
  it("lists limits, usage and refusals", async () => {
    const env = homeWith(`${THREE}  by_type:\n    Explore:\n      concurrent: { max: 9, action: warn }\n`);
    await inProcess(
      env,
      JSON.stringify({ session_id: SESSION, hook_event_name: "UserPromptSubmit", prompt: "Begin." }),
    );
    for (const call of ["a", "b", "c", "d"]) await inProcess(env, spawnPayload(call));
    const report = (await retinueJson(env.HOME, ["guard"], env)) as GuardReport;
    expect(report.limits).toEqual([
      { scope: "all", name: null, limit: "agents", max: 3, action: "deny" },
      { scope: "type", name: "Explore", limit: "concurrent", max: 9, action: "warn" },
    ]);
    expect(report.threads).toMatchObject([
      {
        uri: `claude://${SESSION}`,
        uses: [
          { limit: "agents", used: 3, max: 3, share: 1 },
          { limit: "concurrent", whose: "Explore", used: 3, max: 9 },
        ],
      },
    ]);
    expect(report.denied).toMatchObject([
      { uri: `claude://${SESSION}`, limit: "agents", id: "d", description: "Task d", via: "hook" },
    ]);
    const { stdout } = await retinue(env.HOME, ["guard"], env);
    expect(stdout).toMatch(/every thread +agents +3 +deny/);
    expect(stdout).toMatch(/agents +3 +of 3 +100 %/);
    expect(stdout).toMatch(/⊘ refused .*by hook\n +Task d\n/);
  });

  it("says that there are no limits", async () => {
    const env = homeWith("");
    expect((await retinue(env.HOME, ["guard"], env)).stdout).toMatch(/^Limits\n {2}none;/);
  });
});

describe("retinue doctor", () => {
  /** Installed hooks that run this script instead of retinue. */
  function hookedTo(script: string): Readonly<Record<string, string>> {
    const env = homeWith("");
    const program = join(env.HOME, "retinue");
    writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    mkdirSync(join(env.HOME, ".claude"));
    const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: `"${program}" hook` }] }] };
    writeFileSync(join(env.HOME, ".claude/settings.json"), JSON.stringify({ hooks }));
    return { ...env, PATH: process.env.PATH ?? "" };
  }

  it.each([
    ["hangs", "exec sleep 60", /does not return within 400 ms$/],
    ["crashes", "echo broken >&2; exit 3", /exits with 3: broken$/],
    ["prints what the product would read", "echo '{}'", /prints "\{\}"$/],
  ])("finds a hook that %s", async (_, script, detail) => {
    const env = hookedTo(script);
    const path = join(env.HOME ?? "", ".claude/settings.json");
    expect(await hookProblems(env, 400)).toEqual([
      { code: "hook-broken", where: path, detail: expect.stringMatching(detail) },
    ]);
  });

  it("finds a hook whose program is gone, and nothing if hooks work", async () => {
    const env = hookedTo("exit 0");
    expect(await hookProblems(env)).toEqual([]);
    rmSync(join(env.HOME ?? "", "retinue"));
    const { stdout } = await retinue(env.HOME ?? "", ["doctor"], env);
    expect(stdout).toMatch(/error +hook-broken ×1: An installed hook/);
    expect(stdout).toMatch(/cannot be started: .*ENOENT/);
  });

  it("reports limits that could not be enforced", async () => {
    const env = homeWith("limits:\n  agents: { max: 0 }\n");
    mkdirSync(join(env.RETINUE_HOME, `guard/claude/${SESSION}.jsonl`), { recursive: true });
    await inProcess(env, spawnPayload("a"));
    expect((await retinue(env.HOME, ["doctor"], env)).stdout).toMatch(
      /limits-not-enforced ×1: .*\n.*a folder, not a file/,
    );
  });

  it("names the line of settings that hooks could not read", async () => {
    const env = homeWith("limits:\n  agent: { max: 0 }\n");
    expect(await inProcess(env, spawnPayload("a"))).toBeNull();
    const { code, stderr } = await retinue(env.HOME, ["doctor"], env);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/config\.yaml:2: unknown key limits\.agent\n +did you mean/),
    ]);
  });
});

it("a refusal is recorded before the call, so that no agent is shown for it meanwhile", async () => {
  const env = homeWith("limits:\n  agents: { max: 0 }\n");
  await inProcess(env, spawnPayload("a"));
  const lines = readFileSync(join(env.RETINUE_HOME, `recordings/claude/hooks/${SESSION}.jsonl`), "utf8").trim();
  expect(lines.split("\n").map((line) => Object.keys(JSON.parse(line) as object)[1])).toEqual(["note", "raw"]);
});
