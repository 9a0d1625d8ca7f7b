/**
 * The real Kilo, Qwen Code, Kimi Code, Droid, Cline, Grok and oh-my-pi with a scripted model: `retinue tree` must show what the model
 * served, agent by agent.
 */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type ChatScripts, startChatModel } from "./chat-model.ts";
import { CHAT_PRODUCTS, type ChatProduct } from "./chat-products.ts";
import { type AgentRecord, threads, tree } from "./retinue.ts";

const INSTALL_MS = 600_000;
const SCENARIO_MS = 400_000;

const commands = new Map<string, string[]>();
beforeAll(async () => {
  for (const product of CHAT_PRODUCTS) commands.set(product.name, await product.install());
}, INSTALL_MS);

interface Scenario {
  name: string;
  scripts: ChatScripts;
  /** The parent of each agent, by script, and how each ended. */
  tree: Record<string, { under: string | null; status: string }>;
}

const done = (under: string | null) => ({ under, status: "completed" });
const last = ({ end }: ChatProduct, text: string) => (end === undefined ? { text } : { tools: [end(text)] });
const scenariosOf = (product: ChatProduct, { spawn, work, nests } = product): Scenario[] => [
  {
    name: "two agents at once, of which one fails",
    scripts: {
      main: [{ tools: [spawn("A"), spawn("B")] }, { text: "done" }],
      A: [{ tools: [work] }, { status: 400 }],
      B: [{ tools: [work] }, last(product, "b done")],
    },
    tree: { main: done(null), A: { under: "main", status: "errored" }, B: done("main") },
  },
  {
    name: nests ? "an agent of an agent" : "an agent that asks for an agent in vain",
    scripts: {
      main: [{ tools: [spawn("A")] }, { text: "done" }],
      A: [{ tools: [spawn("B")] }, last(product, "a done")],
      B: [last(product, "b done")],
    },
    tree: { main: done(null), A: done("main"), ...(nests ? { B: done("A") } : {}) },
  },
];

const markerOf = (record: AgentRecord) => /@@(\w+)/.exec(record.prompt ?? "")?.[1] ?? "unknown";

function shown(record: AgentRecord, under: string | null = null): [string, unknown][] {
  const { calls, inputTokens, outputTokens, cacheReadTokens } = record.usage.own;
  const own = { under, status: record.status, usage: { calls, inputTokens, outputTokens, cacheReadTokens } };
  return [[markerOf(record), own], ...record.children.flatMap((child) => shown(child, markerOf(record)))];
}

describe.each(CHAT_PRODUCTS)("$name", (product) => {
  it.each(scenariosOf(product))("$name", { timeout: SCENARIO_MS }, async ({ scripts, tree: truth }) => {
    const model = await startChatModel(scripts);
    onTestFinished(() => model.close());
    const sandbox = await product.open(commands.get(product.name) ?? [], model.url);
    onTestFinished(() => sandbox.dispose());
    const { code, stderr } = await sandbox.start("Begin. @@main").ended;
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
    const found = await threads(sandbox.home);
    expect(found).toHaveLength(1);
    const expected = Object.entries(truth).map(([marker, one]) => [
      marker,
      { ...one, usage: model.served.get(marker) },
    ]);
    expect(Object.fromEntries(shown(await tree(found[0] ?? "", sandbox.home)))).toEqual(Object.fromEntries(expected));
  });
});
