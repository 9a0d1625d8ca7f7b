/**
 * The real Claude Code, traced while it works: everything that the model served arrives once, and no run stays
 * open.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type LangSmithServer, startLangSmith } from "../support/langsmith-server.ts";
import { installClaude, openSandbox, type Sandbox } from "./claude.ts";
import { lastSession } from "./conversations.ts";
import { type Model, startModel } from "./model.ts";
import { NEWEST, type Scenario, scenarios } from "./scenarios.ts";
import { truthOf } from "./truth.ts";

const ROOT = join(import.meta.dirname, "../..");
const MAIN = join(ROOT, "src/cli/main.ts");
const BIN = join(ROOT, "bin/retinue.js");
const ARRIVED = { timeout: 120_000, interval: 200 };
const TIMEOUT = { timeout: 600_000 };
/** The number of sessions with hooks alone, and as many with a server; `RETINUE_SESSIONS` changes it. */
const SESSIONS = Number(process.env.RETINUE_SESSIONS ?? 25);
const AT_ONCE = 5;

let command: string[] = [];
beforeAll(async () => {
  command = await installClaude(NEWEST);
  // Hooks run the built program.
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts")], { cwd: ROOT });
}, 600_000);

interface Traced {
  readonly model: Model;
  readonly server: LangSmithServer;
  readonly sandbox: Sandbox;
  /** The environment of retinue. */
  readonly env: Record<string, string>;
}

/**
 * A temporary home, a model and a tracing service. `isHooked`: hooks are installed, and the agent has the variables
 * that enable tracing.
 */
async function open({ scripts, env }: Pick<Scenario, "scripts" | "env">, isHooked: boolean): Promise<Traced> {
  const [model, server] = [await startModel(scripts), await startLangSmith()];
  onTestFinished(() => model.close());
  onTestFinished(() => server.close());
  const tracing = { TRACE_TO_LANGSMITH: "true", CC_LANGSMITH_API_KEY: "test-key", LANGSMITH_ENDPOINT: server.url };
  const sandbox = await openSandbox(command, model.url, { ...env, ...(isHooked ? tracing : {}) });
  onTestFinished(() => sandbox.dispose());
  const home = { PATH: process.env.PATH ?? "", HOME: sandbox.home };
  if (isHooked)
    execFileSync(process.execPath, [BIN, "hooks", "install", "claude", "--yes"], { env: home, stdio: "ignore" });
  return { model, server, sandbox, env: { ...home, ...tracing } };
}

/** A retinue process that runs until the test is over; resolves once it is ready. */
async function started(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await Promise.race([once(child.stderr, "data"), once(child.stdout, "data")]);
  return child;
}

/** Everything that the model served has arrived once, in its place, and has ended. */
async function expectAll({ model, server }: Traced, endings: Scenario["endings"] = {}) {
  const { recorded } = truthOf(model.exchanges, endings);
  const runs = () => [...server.runs.values()];
  await expect.poll(() => runs().filter(({ run_type }) => run_type === "llm").length, ARRIVED).toBe(recorded.calls);
  await expect.poll(() => runs().filter(({ end_time }) => end_time === undefined), ARRIVED).toEqual([]);
  const usage = runs().flatMap(
    ({ extra }) => (extra?.metadata.usage_metadata as { output_tokens: number } | undefined)?.output_tokens ?? [],
  );
  expect(usage.reduce((sum, tokens) => sum + tokens, 0)).toBe(recorded.outputTokens);
  for (const { parent_run_id } of runs())
    if (parent_run_id !== undefined) expect(server.runs.has(parent_run_id)).toBe(true);
  expect([server.repeated, server.contradictions, server.refusals]).toEqual([[], [], []]);
}

const ofNewest = scenarios.filter(({ versions }) => versions.includes(NEWEST));
const act = async ({ model, sandbox }: Traced, scenario: Scenario) =>
  scenario.act ? scenario.act(sandbox, () => lastSession(model.exchanges)) : sandbox.run("Begin. @@main");

describe(`Claude Code ${NEWEST}, traced`, () => {
  it.each(ofNewest)("by export --follow: $name", TIMEOUT, async (scenario) => {
    const traced = await open(scenario, false);
    await started(["export", "langsmith", "--follow"], traced.env);
    await act(traced, scenario);
    await expectAll(traced, scenario.endings);
  });

  it.each(ofNewest)("by hooks alone: $name", TIMEOUT, async (scenario) => {
    const traced = await open(scenario, true);
    await act(traced, scenario);
    await expectAll(traced, scenario.endings);
  });
});

const NESTED = scenarios.find(({ name }) => name.startsWith("nested")) as Scenario;
const BACKGROUND = scenarios.find(({ name }) => name.startsWith("background")) as Scenario;

describe("many sessions on a busy machine", () => {
  const load: ChildProcess[] = [];
  beforeAll(() => {
    for (let i = 0; i < 2; i += 1) load.push(spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" }));
  });
  afterAll(() => {
    for (const child of load) child.kill("SIGKILL");
  });
  const batches = Array.from({ length: Math.ceil(SESSIONS / AT_ONCE) }, (_, i) => i + 1);
  const size = (batch: number) => Math.min(AT_ONCE, SESSIONS - (batch - 1) * AT_ONCE);

  it.each(batches)(`hooks alone, batch %i of ${AT_ONCE}`, TIMEOUT, async (batch) => {
    const scenario = batch % 3 === 0 ? BACKGROUND : NESTED;
    await Promise.all(
      Array.from({ length: size(batch) }, async () => {
        const traced = await open(scenario, true);
        await act(traced, scenario);
        await expectAll(traced);
      }),
    );
  });

  it.each(batches)(`hooks and a server, batch %i of ${AT_ONCE}, all in one home`, TIMEOUT, async (batch) => {
    const scenario = batch % 3 === 0 ? BACKGROUND : NESTED;
    const traced = await open(scenario, true);
    await started(["serve", "--no-open", "--port", "0"], traced.env);
    await Promise.all(Array.from({ length: size(batch) }, () => traced.sandbox.run("Begin. @@main")));
    await expectAll(traced);
  });
});

describe("a killed process", () => {
  const HANGING: Scenario["scripts"] = {
    ...NESTED.scripts,
    main: [...(NESTED.scripts.main ?? []).slice(0, 1), { hang: true }],
  };
  const LOST = { main: { status: "shutdown", why: "it was killed" } };

  it.each([false, true])("Claude Code, with a server: %s", TIMEOUT, async (hasServer) => {
    const traced = await open({ scripts: HANGING }, true);
    if (hasServer) await started(["serve", "--no-open", "--port", "0"], traced.env);
    const run = traced.sandbox.start("Begin. @@main");
    await expect.poll(() => traced.model.exchanges.filter(({ finished }) => finished).length, ARRIVED).toBe(18);
    // Long enough for its last records to be written.
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    run.signalGroup("SIGKILL");
    await run.ended;
    await expectAll(traced, LOST);
  });

  it("the server, repeatedly: hooks and the next server continue where it stopped", TIMEOUT, async () => {
    const traced = await open(NESTED, true);
    const session = traced.sandbox.run("Begin. @@main");
    let isOver = false;
    void session.then(() => {
      isOver = true;
    });
    while (!isOver) {
      const server = await started(["serve", "--no-open", "--port", "0"], traced.env);
      await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 700));
      server.kill("SIGKILL");
      await once(server, "exit");
    }
    await session;
    await started(["serve", "--no-open", "--port", "0"], traced.env);
    await expectAll(traced);
  });
});
