/** Limits by hooks, in processes as an agent starts them, and `retinue guard`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { hookProblems } from "../../src/app/guard/examine.ts";
import { treeSeen, writeTreeSeen } from "../../src/app/guard/ledger-file.ts";
import { withGiven } from "../../src/app/guard/limits-file.ts";
import { RelayLimits } from "../../src/app/guard/relay.ts";
import { type GuardReport, limitEvents, tidyLedgers } from "../../src/app/guard/report.ts";
import { guardRun } from "../../src/app/guard/run.ts";
import { feedTrees, ledgerOfThread } from "../../src/app/guard/tree-feed.ts";
import { hook } from "../../src/app/hooks/hook.ts";
import { readMachine } from "../../src/app/machine.ts";
import { limitsGiven } from "../../src/cli/limit-option.ts";
import { totalTokens } from "../../src/core/facts/usage.ts";
import type { Limits } from "../../src/core/guard/limits.ts";
import type { AskedPermission } from "../../src/core/ports/control.ts";
import { permissions } from "../../src/providers/kit/opencode/permissions.ts";
import { COMPILED, MAIN, retinue, retinueJson } from "../support/cli.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { until } from "../support/server.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-guard-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let homes = 0;

function homeWith(settings: string): { readonly HOME: string; readonly RETINUE_HOME: string } {
  const home = join(scratch, `home-${homes++}`);
  mkdirSync(join(home, ".config/retinue"), { recursive: true });
  writeFileSync(join(home, ".config/retinue/config.yaml"), settings);
  return { HOME: home, RETINUE_HOME: join(home, "data") };
}

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

  it.each([
    ["a folder", (path: string) => void mkdirSync(path, { recursive: true })],
    ["too large", (path: string) => writeFileSync(path, " ".repeat(5 << 20))],
  ])("lets the call be made if its ledger is %s, and guard reports it", async (_, make) => {
    const env = homeWith("limits:\n  agents: { max: 0 }\n");
    mkdirSync(join(env.RETINUE_HOME, "guard/claude"), { recursive: true });
    make(join(env.RETINUE_HOME, `guard/claude/${SESSION}.jsonl`));
    expect(await inProcess(env, spawnPayload("a"))).toBeNull();
    expect((await retinue(env.HOME, ["guard"], env)).stdout).toMatch(/limits were not enforced: /);
  });
});

describe("what the tree shows", () => {
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

describe("a followed server", () => {
  const frame = (type: string, properties: object) => ({ payload: { type, properties } });
  const asked = (id: string, sessionID: string, permission = "task") =>
    frame("permission.asked", {
      id,
      sessionID,
      permission,
      patterns: ["general"],
      metadata: { description: `Task ${id}`, subagent_type: "general" },
      tool: { callID: `call_${id}` },
    });

  function following(limits: string) {
    const env = homeWith(limits);
    const rejected: string[] = [];
    const open = new Map<string, AskedPermission>();
    const { guard } = permissions;
    if (guard === undefined) throw new Error("no guard");
    const close = (id: string) => {
      const asked = open.get(id);
      open.delete(id);
      if (asked !== undefined) relayed.onClosed(asked);
    };
    const relayed = new RelayLimits({
      env,
      provider: "opencode",
      guard,
      openIn: (session) => [...open.values()].flatMap(({ id, sessionId }) => (sessionId === session ? [id] : [])),
      reject: async (id, text) => {
        rejected.push(`${id}: ${text}`);
        close(id);
      },
    });
    const see = (raw: unknown) => {
      relayed.onFrame(raw);
      const change = permissions.changeIn(raw);
      if (change === null || !("asked" in change)) return;
      open.set(change.asked.id, change.asked);
      relayed.onAsked(change.asked, null);
    };
    return { env, rejected, see, close };
  }

  it("rejects spawns beyond a limit when a person has answered the others of the session", async () => {
    const { env, rejected, see, close } = following(THREE);
    see(frame("session.created", { info: { id: "ses_1" } }));
    for (const id of ["a", "b", "c", "d", "e"]) see(asked(id, "ses_1"));
    see(asked("f", "ses_1", "bash"));
    for (const id of ["a", "b", "c"]) close(id);
    await until(() => limitEvents(env).length === 2);
    expect(rejected).toEqual([]);
    close("f");
    await until(() => rejected.length > 1);
    expect(rejected).toEqual([
      expect.stringMatching(/^d: retinue: this agent was not started, .* its limit is 3/),
      expect.stringMatching(/^e: retinue: /),
    ]);
    expect(limitEvents(env).find(({ id }) => id === "call_d")).toMatchObject({
      uri: "opencode://ses_1",
      via: "relay",
      type: "general",
      description: "Task d",
    });
  });

  it("knows when an agent has ended", async () => {
    const { rejected, see, close } = following("limits:\n  concurrent: { max: 1 }\n");
    see(frame("session.created", { info: { id: "ses_1" } }));
    see(asked("a", "ses_1"));
    close("a");
    see(frame("session.created", { info: { id: "ses_2", parentID: "ses_1" } }));
    see(asked("b", "ses_1"));
    await until(() => rejected.length > 0);
    see(frame("session.idle", { sessionID: "ses_2" }));
    see(asked("c", "ses_1"));
    close("c");
    see(asked("d", "ses_1"));
    await until(() => rejected.length > 1);
    expect(rejected.map((text) => text.split(":")[0])).toEqual(["b", "d"]);
  });

  it("knows the depth from the parents of sessions", async () => {
    const { rejected, see } = following("limits:\n  depth: { max: 1 }\n");
    see(frame("session.created", { info: { id: "ses_1" } }));
    see(frame("session.created", { info: { id: "ses_2", parentID: "ses_1" } }));
    see(asked("a", "ses_1"));
    see(asked("b", "ses_2"));
    await until(() => rejected.length > 0);
    expect(rejected).toEqual([expect.stringMatching(/^b: .*it would be at depth 2/)]);
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
