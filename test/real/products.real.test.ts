/**
 * Real products with a scripted model: every agent is in the tree once, under its parent, with what the model served
 * to it.
 * Nothing is skipped: a product that cannot be installed or run fails.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Usage } from "../support/judge.ts";
import type { ServingModel } from "./gemini-model.ts";
import { REAL_PRODUCTS, type RealProduct } from "./products.ts";
import { type AgentRecord, counted, everyone, threads, tree, verdicts } from "./retinue.ts";
import type { Sandbox } from "./sandbox.ts";
import type { Scripts } from "./script.ts";
import { sum } from "./usage.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 400_000;

/** The parent of each agent, by script, and how it ended; `main` is the thread. */
type Expected = Record<string, { under: string | null; status: string }>;

interface Scenario {
  name: string;
  scripts(product: RealProduct): Scripts;
  expected: Expected;
  nested?: true;
}

const completed = (under: string | null) => ({ under, status: "completed" });
const refused = { error: { status: 400, type: "invalid_request_error", message: "scripted failure" } };

const scenarios: Scenario[] = [
  {
    name: "one agent",
    scripts: ({ spawn, work, report }) => ({
      main: [spawn("A"), { text: "All done." }],
      A: [work, report("A is done.")],
    }),
    expected: { main: completed(null), A: completed("main") },
  },
  {
    name: "two agents at once, the first one slower",
    scripts: ({ spawn, work, report }) => ({
      main: [[{ text: "I ask two." }, ...spawn("A", "B")], { text: "Both are done." }],
      A: [work, { blocks: [report("A is done.")], afterMs: 600 }],
      B: [work, report("B is done.")],
    }),
    expected: { main: completed(null), A: completed("main"), B: completed("main") },
  },
  {
    name: "an agent of an agent",
    scripts: ({ spawn, work, report }) => ({
      main: [spawn("A"), { text: "All done." }],
      A: [work, spawn("B"), report("A is done.")],
      B: [work, report("B is done.")],
    }),
    expected: { main: completed(null), A: completed("main"), B: completed("A") },
    nested: true,
  },
  {
    name: "an agent that fails",
    scripts: ({ spawn, work }) => ({ main: [spawn("A"), { text: "It failed." }], A: [work, refused] }),
    expected: { main: completed(null), A: { under: "main", status: "errored" } },
  },
];

describe.each(REAL_PRODUCTS)("$name", (product) => {
  let command: string[] = [];
  beforeAll(async () => {
    command = await product.install();
  }, INSTALL_MS);

  const stage = async (scripts: Scripts): Promise<{ model: ServingModel; sandbox: Sandbox }> => {
    const model = await product.model(scripts);
    onTestFinished(() => model.close());
    const sandbox = await product.open(command, model.url);
    onTestFinished(() => sandbox.dispose());
    return { model, sandbox };
  };

  it.each(scenarios.filter(({ nested }) => nested !== true || product.nests))(
    "$name",
    { timeout: SCENARIO_MS },
    async ({ scripts, expected }) => {
      const { model, sandbox } = await stage(scripts(product));
      await sandbox.run("Begin. @@main");
      const root = await onlyTree(sandbox);
      expect(shownBy(root, expected, product)).toEqual(servedBy(model, expected, product));
      expect(comparable(counted([root]), product)).toEqual(
        comparable(sum(model.served().map(({ usage }) => usage)), product),
      );
      const found = await verdicts(sandbox.home);
      expect([...found.values()]).toEqual([product.totals ? "agrees" : "nothing"]);
    },
  );

  it("an agent that works, and is killed with its thread", { timeout: SCENARIO_MS }, async () => {
    const { work, spawn, marksProcess, lost } = product;
    const { model, sandbox } = await stage({ main: [spawn("HELD"), { text: "Never." }], HELD: [work, { hang: true }] });
    const run = sandbox.start("Begin. @@main");
    await model.reached("HELD", 1);
    const statuses = async (env?: Record<string, string>) =>
      everyone(await onlyTree(sandbox, env)).map(({ status }) => status);
    await expect
      .poll(() => statuses(), { timeout: 60_000 })
      .toEqual(["running", lost === "notFound" ? "pendingInit" : "running"]);
    run.signalGroup("SIGKILL");
    await run.ended;
    // Without a process file, an agent counts as running until its records are stale.
    const config = join(sandbox.home, "impatient.yaml");
    await writeFile(config, "stale_after: 1s\n");
    await expect
      .poll(() => statuses(marksProcess ? {} : { RETINUE_CONFIG: config }), { timeout: 60_000 })
      .toEqual(["shutdown", lost]);
    const [root] = everyone(await onlyTree(sandbox));
    expect(comparable(root?.usage.own ?? sum([]), product)).toEqual(comparable(usageOf(model, "main"), product));
  });
});

async function onlyTree({ home }: Sandbox, env: Record<string, string> = {}): Promise<AgentRecord> {
  const [thread = "", ...others] = await threads(home, env);
  expect(others).toEqual([]);
  return tree(thread, home, env);
}

const scriptOf = ({ prompt }: AgentRecord) => /@@([A-Za-z0-9_-]+)/.exec(prompt ?? "")?.[1] ?? null;

function shownBy(root: AgentRecord, expected: Expected, product: RealProduct) {
  const parents = new Map(everyone(root).flatMap((node) => node.children.map((child) => [child, node] as const)));
  const shown = everyone(root).map((node) => {
    const above = parents.get(node);
    return {
      script: scriptOf(node),
      under: above === undefined ? null : scriptOf(above),
      status: node.status,
      usage: comparable(node.usage.own, product),
    };
  });
  const order = Object.keys(expected);
  return shown.sort((a, b) => order.indexOf(a.script ?? "") - order.indexOf(b.script ?? ""));
}

function servedBy(model: ServingModel, expected: Expected, product: RealProduct) {
  return Object.entries(expected).map(([script, of]) => ({
    script,
    ...of,
    usage: comparable(usageOf(model, script), product),
  }));
}

const usageOf = (model: ServingModel, script: string) =>
  sum(model.served().flatMap((one) => (one.script === script ? [one.usage] : [])));

/** What the product records about it. */
function comparable(usage: Usage, { tellsHours }: RealProduct): Partial<Usage> {
  const { calls, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens } = usage;
  return {
    calls,
    inputTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    ...(tellsHours ? { cacheWrite1hTokens } : {}),
  };
}
