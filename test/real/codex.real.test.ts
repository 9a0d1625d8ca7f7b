/**
 * The real Codex with a scripted model: `retinue tree` must show what the model knows to have happened.
 * Nothing is skipped: a version that cannot be installed or run fails.
 */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { differences } from "../support/judge.ts";
import { installCodex, openSandbox, type Sandbox, type Setup } from "./codex/codex.ts";
import { type Model, startModel } from "./codex/model.ts";
import { exec, NEWEST, resume, type Scenario, SETUPS, scenarios } from "./codex/scenarios.ts";
import type { Scripts } from "./codex/script.ts";
import { truthOf } from "./codex/truth.ts";
import { everyone, threads, tree } from "./retinue.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 120_000;
/**
 * The end of a killed agent must be detected by its process, long before it counts as silent (10 minutes). Generous,
 * since the machine may be busy.
 */
const SEEN = { timeout: 60_000, interval: 50 };

const commands = new Map<string, string[]>();
beforeAll(async () => {
  for (const version of new Set(SETUPS.map((setup) => setup.version)))
    commands.set(version, await installCodex(version));
}, INSTALL_MS);

async function stage(setup: Setup, scripts: Scripts): Promise<{ model: Model; sandbox: Sandbox }> {
  const model = await startModel(scripts);
  onTestFinished(() => model.close());
  const sandbox = await openSandbox(commands.get(setup.version) ?? [], model.url, setup);
  onTestFinished(() => sandbox.dispose());
  return { model, sandbox };
}

const lastRoot = (model: Model) => truthOf(model.exchanges, {}).at(-1)?.root ?? "";

async function play({ act, scripts }: Scenario, sandbox: Sandbox, model: Model): Promise<void> {
  if (act !== undefined) return act(sandbox, () => lastRoot(model));
  const isKilled = Object.values(scripts).some((steps) =>
    steps.some((step) => typeof step === "object" && "hang" in step),
  );
  if (!isKilled) return sandbox.run(exec("Begin. @@main"));
  const run = sandbox.start(exec("Begin. @@main"));
  await model.reached("a", 1);
  run.signalGroup("SIGKILL");
  await run.ended;
  await sandbox.run(resume(lastRoot(model), "Go on. @@main2"));
}

describe.each(SETUPS)("Codex $name", (setup) => {
  it.each(scenarios.filter(({ only }) => only?.(setup) ?? true))(
    "$name",
    { timeout: SCENARIO_MS },
    async (scenario) => {
      const { model, sandbox } = await stage(setup, scenario.scripts);
      await play(scenario, sandbox, model);
      const truth = truthOf(model.exchanges, scenario.endings ?? {});
      expect(Math.min(...truth.map(({ agents }) => agents.length)), "every thread has agents").toBeGreaterThan(1);
      // No child is a thread of its own, and there are no other agents.
      expect((await threads(sandbox.home)).sort()).toEqual(truth.map(({ root }) => root).sort());
      for (const thread of truth) expect(differences(thread, await tree(thread.root, sandbox.home))).toEqual([]);
    },
  );
});

describe("a working agent", () => {
  it.each(SETUPS.filter(({ version }) => version === NEWEST))(
    "is running, and soon after a SIGKILL it is shut down, and so is its thread: $name",
    { timeout: SCENARIO_MS },
    async (setup) => {
      const killed = scenarios.find(({ name }) => name.includes("killed"));
      const { model, sandbox } = await stage(setup, killed?.scripts ?? {});
      const run = sandbox.start(exec("Begin. @@main"));
      await model.reached("a", 1);
      const statuses = async () => everyone(await tree(lastRoot(model), sandbox.home)).map(({ status }) => status);
      await expect.poll(statuses, SEEN).toEqual(["running", "running"]);
      run.signalGroup("SIGKILL");
      await expect.poll(statuses, SEEN).toEqual(["shutdown", "shutdown"]);
    },
  );
});
