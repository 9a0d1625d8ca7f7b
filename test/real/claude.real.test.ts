/**
 * The real Claude Code with a scripted model: `retinue tree` must show what the model knows to have happened.
 * Nothing is skipped: a version that cannot be installed or run fails.
 */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { differences } from "../support/judge.ts";
import { installClaude, openSandbox, type Sandbox } from "./claude.ts";
import { lastSession } from "./conversations.ts";
import { type Model, startModel } from "./model.ts";
import { type AgentRecord, counted, everyone, threads, tree, verdicts } from "./retinue.ts";
import { agent, MIDDLE, NEWEST, OLD, scenarios } from "./scenarios.ts";
import type { Scripts } from "./script.ts";
import { truthOf } from "./truth.ts";

const VERSIONS = [NEWEST, MIDDLE, OLD];
const INSTALL_MS = 600_000;
const SCENARIO_MS = 120_000;
/**
 * The end of a killed agent must be detected by its process, long before it counts as silent (10 minutes). Generous,
 * since the machine may be busy.
 */
const SEEN_WITHIN_MS = 60_000;

const MISSING = { agentId: null, status: "not listed" };

const commands = new Map<string, string[]>();
beforeAll(async () => {
  for (const version of VERSIONS) commands.set(version, await installClaude(version));
}, INSTALL_MS);

async function stage(
  version: string,
  scripts: Scripts,
  env?: Record<string, string>,
): Promise<{ model: Model; sandbox: Sandbox }> {
  const model = await startModel(scripts);
  onTestFinished(() => model.close());
  const sandbox = await openSandbox(commands.get(version) ?? [], model.url, env);
  onTestFinished(() => sandbox.dispose());
  return { model, sandbox };
}

describe.each(VERSIONS)("Claude Code %s", (version) => {
  const possible = scenarios.filter(({ versions }) => versions.includes(version));

  it.each(possible)("$name", { timeout: SCENARIO_MS }, async ({ scripts, endings, env, act }) => {
    const { model, sandbox } = await stage(version, scripts, env);
    if (act) await act(sandbox, () => lastSession(model.exchanges));
    else await sandbox.run("Begin. @@main");

    const truth = truthOf(model.exchanges, endings);
    const trees = new Map<string, AgentRecord>();
    for (const thread of await threads(sandbox.home)) trees.set(thread, await tree(thread, sandbox.home));

    const worked = new Set(truth.threads.map(({ root }) => root));
    for (const thread of truth.threads) expect(differences(thread, trees.get(thread.root) ?? MISSING)).toEqual([]);
    // The oldest version creates an empty thread for its warm-ups before it resumes another: it may be shown, but
    // contains no work.
    const others = [...trees].filter(([thread]) => !worked.has(thread)).flatMap(([, root]) => everyone(root));
    expect(others.map(({ usage }) => usage.own.calls)).toEqual(others.map(() => 0));
    // Every call was counted, and none twice: neither for another agent nor in another thread.
    expect(counted([...trees.values()])).toEqual(truth.recorded);
    // The product itself counted the same, if it reports a count.
    const found = await verdicts(sandbox.home);
    for (const { root } of truth.threads)
      expect(found.get(root)).toMatch(version === NEWEST ? /^(agrees|explained)$/ : /^nothing$/);
  });
});

describe("a working agent", () => {
  const scripts: Scripts = {
    main: [(asked) => agent(asked, "HELD")],
    HELD: [{ tool: "Bash", input: { command: "echo held", description: "Runs it" } }, { hang: true }],
  };
  const begin = async (version: string) => {
    const { model, sandbox } = await stage(version, scripts);
    const run = sandbox.start("Begin. @@main");
    await model.reached("HELD", 1);
    const thread = lastSession(model.exchanges);
    const statuses = async () => everyone(await tree(thread, sandbox.home)).map(({ status }) => status);
    return { run, statuses };
  };
  const soon = { timeout: SEEN_WITHIN_MS, interval: 50 };

  it.each([NEWEST, MIDDLE])(
    "is running, and soon after a SIGKILL it is shut down, and so is its thread: %s",
    { timeout: SCENARIO_MS },
    async (version) => {
      const { run, statuses } = await begin(version);
      await expect.poll(statuses, soon).toEqual(["running", "running"]);
      run.signalGroup("SIGKILL");
      await expect.poll(statuses, soon).toEqual(["shutdown", "shutdown"]);
    },
  );

  // This version leaves no trace of its process, so its end is unknown until the records are stale.
  it(`is running: ${OLD}`, { timeout: SCENARIO_MS }, async () => {
    const { statuses } = await begin(OLD);
    await expect.poll(statuses, soon).toEqual(["running", "running"]);
  });
});
