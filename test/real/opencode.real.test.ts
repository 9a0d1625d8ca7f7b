/** The real OpenCode with a scripted model: `retinue tree` must show what the model served, agent by agent. */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type ChatModel, type ChatScripts, startChatModel } from "./chat-model.ts";
import { installOpenCode, type OpenCode, openOpenCode } from "./opencode.ts";
import { type AgentRecord, everyone, threads, tree } from "./retinue.ts";

const NEWEST = "1.18.33";
/** Its database has no log of events. */
const OLD = "1.2.27";
/** Not supported by old versions, which have no limit. */
const DEEP = { subagent_depth: 3 };
const INSTALL_MS = 600_000;
const SCENARIO_MS = 120_000;
/** Each check starts the retinue command twice, which is slow on a busy machine. */
const SEEN_WITHIN_MS = 60_000;

const commands = new Map<string, string[]>();
beforeAll(async () => {
  for (const version of [NEWEST, OLD]) commands.set(version, await installOpenCode(version));
}, INSTALL_MS);

const task = (marker: string, subagent_type = "general") => ({
  name: "task",
  args: { description: `Task ${marker}`, prompt: `Do it. @@${marker}`, subagent_type },
});
const bash = { name: "bash", args: { command: "echo one", description: "Echo" } };

interface Scenario {
  name: string;
  scripts: ChatScripts;
  /** The parent of each agent, by script, and how each ended. */
  tree: Record<string, { under: string | null; status: string }>;
}

const done = (under: string | null) => ({ under, status: "completed" });
const scenarios: Scenario[] = [
  {
    name: "one child",
    scripts: { main: [{ tools: [task("A")] }, { text: "done" }], A: [{ tools: [bash] }, { text: "a done" }] },
    tree: { main: done(null), A: done("main") },
  },
  {
    name: "three children at once",
    scripts: {
      main: [{ tools: [task("A"), task("B", "explore"), task("C")] }, { text: "done" }],
      A: [{ tools: [bash] }, { tools: [bash] }, { text: "a done" }],
      B: [{ text: "b done" }],
      C: [{ tools: [bash] }, { text: "c done" }],
    },
    tree: { main: done(null), A: done("main"), B: done("main"), C: done("main") },
  },
  {
    name: "children of children",
    scripts: {
      main: [{ tools: [task("A")] }, { text: "done" }],
      A: [{ tools: [task("B"), task("C", "explore")] }, { text: "a done" }],
      B: [{ tools: [task("D")] }, { text: "b done" }],
      C: [{ text: "c done" }],
      D: [{ text: "d done" }],
    },
    tree: { main: done(null), A: done("main"), B: done("A"), C: done("A"), D: done("B") },
  },
  {
    name: "a child whose model refuses",
    scripts: {
      main: [{ tools: [task("A"), task("B")] }, { text: "done" }],
      A: [{ status: 400 }],
      B: [{ text: "b done" }],
    },
    tree: { main: done(null), A: { under: "main", status: "errored" }, B: done("main") },
  },
];

async function stage(version: string, scripts: ChatScripts): Promise<{ model: ChatModel; product: OpenCode }> {
  const model = await startChatModel(scripts);
  onTestFinished(() => model.close());
  const product = await openOpenCode(commands.get(version) ?? [], model.url, version === NEWEST ? DEEP : {});
  onTestFinished(() => product.dispose());
  return { model, product };
}

async function onlyTree(home: string): Promise<AgentRecord> {
  const found = await threads(home);
  expect(found).toHaveLength(1);
  return tree(found[0] ?? "", home);
}

const markerOf = (record: AgentRecord) => /@@(\w+)/.exec(record.prompt ?? "")?.[1] ?? "unknown";

function shown(record: AgentRecord, under: string | null = null): [string, unknown][] {
  const { calls, inputTokens, outputTokens, cacheReadTokens } = record.usage.own;
  const own = { under, status: record.status, usage: { calls, inputTokens, outputTokens, cacheReadTokens } };
  return [[markerOf(record), own], ...record.children.flatMap((child) => shown(child, markerOf(record)))];
}

const NOTHING = { calls: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0 };

describe.each([NEWEST, OLD])("OpenCode %s", (version) => {
  it.each(scenarios)("$name", { timeout: SCENARIO_MS }, async ({ scripts, tree: truth }) => {
    const { model, product } = await stage(version, scripts);
    const { code, stderr } = await product.start("Begin. @@main").ended;
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    const expected = Object.entries(truth).map(([marker, one]) => [
      marker,
      { ...one, usage: model.served.get(marker) ?? NOTHING },
    ]);
    expect(Object.fromEntries(shown(await onlyTree(product.home)))).toEqual(Object.fromEntries(expected));
  });

  it("is running while it works, and shut down soon after a SIGKILL", { timeout: SCENARIO_MS }, async () => {
    const { model, product } = await stage(version, {
      main: [{ tools: [task("A")] }],
      A: [{ tools: [bash] }, { hang: true }],
    });
    const run = product.start("Begin. @@main");
    await model.reached("A", 1);
    const statuses = async () => everyone(await onlyTree(product.home)).map(({ status }) => status);
    const soon = { timeout: SEEN_WITHIN_MS, interval: 50 };
    await expect.poll(statuses, soon).toEqual(["running", "running"]);
    run.signalGroup("SIGKILL");
    await run.ended;
    await expect.poll(statuses, soon).toEqual(["shutdown", "shutdown"]);
    expect(shown(await onlyTree(product.home)).map(([marker]) => marker)).toEqual(["main", "A"]);
  });
});
