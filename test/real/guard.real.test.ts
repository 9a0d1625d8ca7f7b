/**
 * Limits with the real products: ten spawns with a limit of three, and spawns that are too deep. The model is told why,
 * the thread goes on, and the tree shows what was refused.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { run } from "../../src/app/api.ts";
import { runProxy } from "../../src/app/proxy/run.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import type { Limits } from "../../src/core/guard/limits.ts";
import { installClaude, openSandbox, ownRunIn, type Sandbox } from "./claude.ts";
import { installCodex, openSandbox as openCodex } from "./codex/codex.ts";
import { startModel as startCodexModel } from "./codex/model.ts";
import { agent as codexAgent, exec, NEWEST as NEWEST_CODEX, SETUPS } from "./codex/scenarios.ts";
import { type Exchange, startModel } from "./model.ts";
import { type AgentRecord, everyone, threads, tree } from "./retinue.ts";
import { agent, MIDDLE, NEWEST } from "./scenarios.ts";
import type { Scripts } from "./script.ts";

const INSTALL_MS = 600_000;
const RUN_MS = 180_000;
const ROOT = join(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/cli/main.ts");
const LEAVES = Array.from({ length: 10 }, (_, i) => `LEAF${i}`);

/** Ten agents in one response, then the thread goes on. */
const TEN: Scripts = {
  main: [(asked) => LEAVES.map((leaf) => agent(asked, leaf)), { text: "I go on." }],
  ...Object.fromEntries(LEAVES.map((leaf) => [leaf, [{ text: `${leaf} is done.` }]])),
};

/** The thread spawns A, A spawns B, B spawns C. */
const DEEP: Scripts = {
  main: [(asked) => agent(asked, "A"), { text: "I go on." }],
  A: [(asked) => agent(asked, "B"), { text: "A is done." }],
  B: [(asked) => agent(asked, "C"), { text: "B is done, without C." }],
  C: [{ text: "C is done." }],
};

function settings(home: string, yaml: string): void {
  mkdirSync(join(home, ".config/retinue"), { recursive: true });
  writeFileSync(join(home, ".config/retinue/config.yaml"), yaml);
}

const deny = (limit: string, max: number) => `limits:\n  ${limit}: { max: ${max}, action: deny }\n`;

async function installHooks(provider: string, home: string): Promise<void> {
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  await promisify(execFile)(process.execPath, [MAIN, "hooks", "install", provider, "--yes"], { env });
}

interface Refusal {
  readonly reason: string;
  readonly description: string | null;
  readonly toolCallId: string;
}
interface Reasoned {
  readonly statusReason: string;
}
type WithRefusals = AgentRecord & { refused: Refusal[]; counts: { refused: number } };

const refusedBy = (record: AgentRecord) => (record as WithRefusals).refused;
const scriptsOf = (exchanges: readonly { readonly script: string | null }[]) => [
  ...new Set(exchanges.flatMap(({ script }) => script ?? [])),
];

/** What the model reads in the last request of a script about its spawn calls. */
function spawnResults(exchanges: readonly Exchange[], script: string): string[] {
  const last = exchanges.findLast((one) => one.script === script);
  return (last?.request.messages ?? []).flatMap(({ content }) =>
    typeof content === "string"
      ? []
      : (content as { type: string; content?: unknown }[]).flatMap((block) =>
          block.type === "tool_result" ? [JSON.stringify(block.content)] : [],
        ),
  );
}

async function treeOf(sandbox: Pick<Sandbox, "home">): Promise<AgentRecord> {
  const env = { RETINUE_HOME: join(sandbox.home, ".local/share/retinue") };
  const [thread = "none"] = await threads(sandbox.home, env);
  return tree(thread, sandbox.home, env);
}

/** Three of ten agents ran; seven were refused with the reason; the thread went on and completed. */
async function expectThreeOfTen(sandbox: Pick<Sandbox, "home">, exchanges: readonly Exchange[]): Promise<void> {
  expect(scriptsOf(exchanges).filter((script) => script.startsWith("LEAF"))).toHaveLength(3);
  const results = spawnResults(exchanges, "main");
  expect(results).toHaveLength(10);
  expect(results.filter((text) => text.includes("this thread already has 3 agents, and its limit is 3"))).toHaveLength(
    7,
  );
  const root = await treeOf(sandbox);
  expect(root.status).toBe("completed");
  expect(root.children.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  expect(refusedBy(root)).toHaveLength(7);
  for (const { reason } of refusedBy(root))
    expect(reason).toMatch(/^retinue: this agent was not started, because this thread already has 3 agents/);
}

/** A and B ran; C was refused, B was told why, and all of them went on. */
async function expectTwoOfThree(sandbox: Pick<Sandbox, "home">, exchanges: readonly Exchange[]): Promise<void> {
  expect(scriptsOf(exchanges)).toEqual(["main", "A", "B"]);
  expect(spawnResults(exchanges, "B").join()).toContain("it would be at depth 3, and agents may be at most at depth 2");
  const all = everyone(await treeOf(sandbox));
  expect(all.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  expect(all.map((one) => refusedBy(one).length)).toEqual([0, 0, 1]);
}

let claude: string[] = [];
beforeAll(async () => {
  claude = await installClaude(NEWEST);
}, INSTALL_MS);

describe(`Claude Code ${NEWEST} with hooks`, () => {
  async function hooked(scripts: Scripts, yaml: string, program = claude) {
    const model = await startModel(scripts);
    onTestFinished(() => model.close());
    const sandbox = await openSandbox(program, model.url);
    onTestFinished(() => sandbox.dispose());
    settings(sandbox.home, yaml);
    await installHooks("claude", sandbox.home);
    await sandbox.run("Begin. @@main");
    return { sandbox, model };
  }

  it("starts three of ten agents with a limit of three", { timeout: RUN_MS }, async () => {
    const { sandbox, model } = await hooked(TEN, deny("agents", 3));
    await expectThreeOfTen(sandbox, model.exchanges);
  });

  it("refuses an agent at depth three with a limit of two", { timeout: RUN_MS }, async () => {
    const { sandbox, model } = await hooked(DEEP, deny("depth", 2));
    await expectTwoOfThree(sandbox, model.exchanges);
  });

  it("does the same in a version whose agents do not state their depth", { timeout: INSTALL_MS }, async () => {
    const { sandbox, model } = await hooked(DEEP, deny("depth", 2), await installClaude(MIDDLE));
    await expectTwoOfThree(sandbox, model.exchanges);
  });

  it("runs at most two at once, and the next one when one has ended", { timeout: RUN_MS }, async () => {
    const scripts: Scripts = {
      main: [
        (asked) => ["A", "B", "C"].map((name) => agent(asked, name)),
        (asked) => agent(asked, "D"),
        { text: "I go on." },
      ],
      ...Object.fromEntries(["A", "B", "C", "D"].map((name) => [name, [{ text: `${name} is done.` }]])),
    };
    const { sandbox, model } = await hooked(scripts, deny("concurrent", 2));
    expect(scriptsOf(model.exchanges).filter((script) => script.length === 1)).toHaveLength(3);
    expect(scriptsOf(model.exchanges)).toContain("D");
    expect(refusedBy(await treeOf(sandbox))).toHaveLength(1);
  });

  it("only warns if the limit says so: the model reads it, and all agents run", { timeout: RUN_MS }, async () => {
    const { sandbox, model } = await hooked(TEN, "limits:\n  agents: { max: 3, action: warn }\n");
    expect(scriptsOf(model.exchanges).filter((script) => script.startsWith("LEAF"))).toHaveLength(10);
    const last = model.exchanges.findLast(({ script }) => script === "main");
    expect(JSON.stringify(last?.request).match(/a limit is exceeded: this thread already has/g)).toHaveLength(7);
    expect((await treeOf(sandbox)).children).toHaveLength(10);
  });

  it("is not disturbed by settings that cannot be read", { timeout: RUN_MS }, async () => {
    const { sandbox, model } = await hooked(TEN, "limits: [what\n");
    expect(scriptsOf(model.exchanges).filter((script) => script.startsWith("LEAF"))).toHaveLength(10);
    const env = { PATH: process.env.PATH ?? "", HOME: sandbox.home };
    const doctor = promisify(execFile)(process.execPath, [MAIN, "doctor"], { env });
    await expect(doctor).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining("config.yaml:2: not valid YAML"),
    });
  });
});

describe(`Claude Code ${NEWEST} under retinue run`, () => {
  async function wrapped(scripts: Scripts, limits: readonly string[], yaml = "") {
    const model = await startModel(scripts);
    onTestFinished(() => model.close());
    const flags = limits.flatMap((limit) => ["--limit", limit]);
    const sandbox = await openSandbox([process.execPath, MAIN, "run", ...flags, "--", ...claude], model.url);
    onTestFinished(() => sandbox.dispose());
    settings(sandbox.home, yaml);
    await sandbox.run("Begin. @@main");
    return { sandbox, model };
  }

  it("starts three of ten agents with a limit of three", { timeout: RUN_MS }, async () => {
    const { sandbox, model } = await wrapped(TEN, ["agents=3"]);
    await expectThreeOfTen(sandbox, model.exchanges);
  });

  it("refuses an agent at depth three with a limit of two, which the settings name", { timeout: RUN_MS }, async () => {
    const { sandbox, model } = await wrapped(DEEP, [], deny("depth", 2));
    await expectTwoOfThree(sandbox, model.exchanges);
  });

  it("does the same as a run of the library", { timeout: RUN_MS }, async () => {
    const model = await startModel(TEN);
    onTestFinished(() => model.close());
    const sandbox = await openSandbox(claude, model.url);
    onTestFinished(() => sandbox.dispose());
    const { cwd, env } = ownRunIn(sandbox);
    const handle = await run([...claude, "-p", "Begin. @@main", "--dangerously-skip-permissions"], {
      cwd,
      env: { ...env, RETINUE_HOME: join(sandbox.home, ".local/share/retinue") },
      limits: { agents: { max: 3, action: "deny" } },
    });
    const spawned: string[] = [];
    for await (const { kind, spawn } of handle) if (kind === "spawn") spawned.push(spawn?.uri ?? "");
    expect(spawned).toHaveLength(3);
    await expectThreeOfTen(sandbox, model.exchanges);
  });

  it("counts once if the hooks enforce the same limit", { timeout: RUN_MS }, async () => {
    const model = await startModel(TEN);
    onTestFinished(() => model.close());
    const sandbox = await openSandbox([process.execPath, MAIN, "run", "--", ...claude], model.url);
    onTestFinished(() => sandbox.dispose());
    settings(sandbox.home, deny("agents", 3));
    await installHooks("claude", sandbox.home);
    await sandbox.run("Begin. @@main");
    await expectThreeOfTen(sandbox, model.exchanges);
  });

  it("stops the tools of a thread that has used its tokens", { timeout: RUN_MS }, async () => {
    const again = { tool: "Bash", input: { command: "sleep 1", description: "Waits" } };
    const scripts: Scripts = {
      main: [...Array.from({ length: 8 }, () => again), { text: "I finish with what I have." }],
    };
    const { model } = await wrapped(scripts, ["tokens=1"]);
    expect(spawnResults(model.exchanges, "main").join()).toContain("Finish with what you have");
  });
});

describe(`Claude Code ${NEWEST} through the proxy`, () => {
  async function proxied(scripts: Scripts, limits: Limits) {
    const model = await startModel(scripts);
    onTestFinished(() => model.close());
    const data = mkdtempSync(join(tmpdir(), "retinue-guard-"));
    onTestFinished(() => rmSync(data, { recursive: true, force: true }));
    const env = { RETINUE_HOME: data, HOME: data };
    const proxy = await runProxy({
      env,
      settings: await loadSettings(env),
      port: 0,
      host: "127.0.0.1",
      upstream: new URL(model.url),
      via: null,
      silenceMs: 60_000,
      redaction: null,
      limits,
      notify: () => {},
    });
    const sandbox = await openSandbox(claude, proxy.url);
    onTestFinished(() => sandbox.dispose());
    await sandbox.run("Begin. @@main");
    await proxy.stop();
    const [thread = "none"] = await threads(sandbox.home, env);
    return { sandbox, model, root: await tree(thread, sandbox.home, { RETINUE_HOME: data }) };
  }

  it("lets three of ten agents call the model with a limit of three", { timeout: RUN_MS }, async () => {
    const { model, root } = await proxied(TEN, { agents: { max: 3, action: "deny" } });
    expect(scriptsOf(model.exchanges).filter((script) => script.startsWith("LEAF"))).toHaveLength(3);
    expect(
      spawnResults(model.exchanges, "main").filter((text) => text.includes("this thread already has 3 agents")),
    ).toHaveLength(7);
    expect(root.status).toBe("completed");
    // Claude Code has started them before they call the model: they are agents that failed.
    const failed = root.children.filter(({ status }) => status === "errored") as (AgentRecord & Reasoned)[];
    expect([root.children.length, failed.length]).toEqual([10, 7]);
    for (const { statusReason } of failed) expect(statusReason).toContain("this thread already has 3 agents");
  });

  it("refuses an agent at depth three with a limit of two", { timeout: RUN_MS }, async () => {
    const { model, root } = await proxied(DEEP, { depth: { max: 2, action: "deny" } });
    expect(scriptsOf(model.exchanges)).toEqual(["main", "A", "B"]);
    expect(spawnResults(model.exchanges, "B").join()).toContain("it would be at depth 3");
    expect(everyone(root).map(({ status }) => status)).toEqual(["completed", "completed", "completed", "errored"]);
  });

  it("stops an agent that has used its tokens, and its parent goes on", { timeout: RUN_MS }, async () => {
    const again = { tool: "Bash", input: { command: "sleep 2", description: "Waits" } };
    const { model, root } = await proxied(
      {
        main: [(asked) => agent(asked, "A"), { text: "I go on." }],
        A: [...Array.from({ length: 12 }, () => again), { text: "A is done." }],
      },
      { by_type: { "*": { tokens: { max: 1, action: "deny" } } } },
    );
    // A response counts when it has been recorded, which takes a moment.
    expect(model.exchanges.filter(({ script }) => script === "A").length).toBeLessThan(12);
    expect(root.children.map(({ status }) => status)).toEqual(["errored"]);
    expect(root.status).toBe("completed");
  });
});

describe.each(SETUPS.filter(({ version }) => version === NEWEST_CODEX))("Codex $name with hooks", (setup) => {
  async function hooked(scripts: Parameters<typeof startCodexModel>[0], yaml: string) {
    const model = await startCodexModel(scripts);
    onTestFinished(() => model.close());
    const sandbox = await openCodex(await installCodex(setup.version), model.url, setup);
    onTestFinished(() => sandbox.dispose());
    settings(sandbox.home, yaml);
    await installHooks("codex", sandbox.home);
    await sandbox.run([...exec("Begin. @@main"), "--dangerously-bypass-hook-trust"]);
    return { sandbox, model };
  }

  it("starts three of ten agents with a limit of three", { timeout: INSTALL_MS }, async () => {
    const names = LEAVES.map((leaf) => leaf.toLowerCase());
    const { sandbox, model } = await hooked(
      {
        main: [
          (asked) => names.map((name) => codexAgent(asked, name)),
          { blocks: [{ text: "I go on." }], afterMs: 3_000 },
        ],
        ...Object.fromEntries(names.map((name) => [name, [{ text: `${name} is done.` }]])),
      },
      deny("agents", 3),
    );
    expect(scriptsOf(model.exchanges).filter((script) => script.startsWith("leaf"))).toHaveLength(3);
    const root = await treeOf(sandbox);
    expect(root.children).toHaveLength(3);
    expect(refusedBy(root)).toHaveLength(7);
    for (const { reason } of refusedBy(root))
      expect(reason).toMatch(
        /^retinue: this agent was not started, because this thread already has 3 agents.*result\.$/,
      );
  });

  // Agents of the first system cannot spawn others.
  if (!setup.hasPaths) return;
  it("refuses an agent at depth three with a limit of two", { timeout: INSTALL_MS }, async () => {
    const wait = { tool: "wait_agent", input: { timeout_ms: 20_000 } };
    const { sandbox, model } = await hooked(
      {
        main: [(asked) => codexAgent(asked, "a"), wait, { text: "I go on." }],
        a: [(asked) => codexAgent(asked, "b"), wait, { text: "a is done." }],
        b: [(asked) => codexAgent(asked, "c"), { text: "b is done, without c." }],
        c: [{ text: "c is done." }],
      },
      deny("depth", 2),
    );
    expect(scriptsOf(model.exchanges)).toEqual(["main", "a", "b"]);
    const all = everyone(await treeOf(sandbox));
    expect(all.map((one) => refusedBy(one).length)).toEqual([0, 0, 1]);
  });
});
