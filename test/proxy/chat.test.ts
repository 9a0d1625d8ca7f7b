/**
 * Chat completions through the proxy: the recorded traffic of products yields the agents, calls and tokens that are
 * known to be true.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listPrice } from "../../src/app/query/prices.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { differences, type ThreadTruth, type TreeNode } from "../support/judge.ts";
import { startProxied } from "./proxied.ts";
import { replay, startUpstream, type WireExchange, wireOf } from "./wires.ts";

const WIRES = "wires";
const truthOf = (name: string) =>
  (JSON.parse(readFileSync(join(FIXTURES, WIRES, name, "truth.json"), "utf8")) as { threads: ThreadTruth[] }).threads;

/** Ids that only the products' own files know. */
const nobodyNamed = (thread: ThreadTruth): ThreadTruth => ({
  ...thread,
  agents: thread.agents.map((agent) => (agent.agentId === null ? agent : { ...agent, agentIdNative: false })),
});

async function treesAfter(wire: readonly WireExchange[]) {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url);
  onTestFinished(() => proxied.dispose());
  await replay(wire, proxied.url, upstream);
  await proxied.stop();
  const { forest, problems, library } = await proxied.read();
  expect([
    proxied.messages,
    problems.filter(({ code }) => code === "line-not-json" || code === "record-malformed"),
  ]).toEqual([[], []]);
  return { trees: forest.roots.map((key) => treeOf(forest, key, listPrice)), library };
}

const MISSING: TreeNode = { agentId: null, status: "not listed" };
const withoutHeaders = (wire: readonly WireExchange[]) =>
  wire.map((exchange) => ({ ...exchange, headers: { "content-type": "application/json" } }));
/** Grok marks the summary of a turn only in a header. */
const NEEDS_HEADERS = /^grok/;

describe.each(readdirSync(join(FIXTURES, WIRES)))("the traffic of %s", (name) => {
  it.each([false, ...(NEEDS_HEADERS.test(name) ? [] : [true])])(
    "yields its agents, calls and tokens; without its headers: %s",
    async (isBare) => {
      const wire = wireOf(WIRES, name);
      const { trees } = await treesAfter(isBare ? withoutHeaders(wire) : wire);
      const truth = truthOf(name);
      const treeFor = ({ agents: [root] }: ThreadTruth) => {
        const prompt = root?.prompt?.trim() ?? "";
        return (
          trees.find((tree) => tree.prompt?.trim() === prompt) ??
          trees.find((tree) => tree.prompt?.includes(prompt)) ??
          MISSING
        );
      };
      expect(truth.flatMap((thread) => differences(nobodyNamed(thread), treeFor(thread) as TreeNode))).toEqual([]);
      expect(trees).toHaveLength(truth.length);
    },
  );
});
