/** Every recorded exchange through the proxy: its recording alone gives the tree that is known to be true. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { listPrice } from "../../src/app/prices.ts";
import { treeOf } from "../../src/core/record.ts";
import { caseNames, FIXTURES, type RecordedThread, recordedHome } from "../fixtures.ts";
import { differences, type TreeNode } from "../judge.ts";
import { startProxied } from "./proxied.ts";
import { type ReplayOptions, replay, startUpstream, type WireExchange, wireOf } from "./wires.ts";

const MISSING: TreeNode = { agentId: null, status: "not listed" };
const casesOf = (provider: string) => caseNames(provider).filter((name) => existsSync(join(FIXTURES, provider, name, "wire.jsonl")));

/** What became of it after the replay, thread by thread; `home`: with the product's own records beside it. */
async function treesAfter(wire: readonly WireExchange[], options: ReplayOptions = {}, home?: string): Promise<Map<string, TreeNode>> {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url);
  onTestFinished(() => proxied.dispose());
  await replay(wire, proxied.url, upstream, options);
  await proxied.stop();
  expect(proxied.talk).toEqual([]);
  const { forest, problems } = await proxied.read(home);
  expect(problems.filter(({ code }) => code === "line-not-json" || code === "record-malformed")).toEqual([]);
  return new Map(forest.roots.map((key) => [treeOf(forest, key, listPrice).sessionId, treeOf(forest, key, listPrice) as TreeNode]));
}

/** What only files tell cannot be known from the traffic: ids that were never sent. */
function asTheWireKnows(thread: RecordedThread, wire: readonly WireExchange[]): RecordedThread {
  const sent = JSON.stringify(wire);
  return { ...thread, agents: thread.agents.map((agent) => (agent.agentId !== null && !sent.includes(agent.agentId) ? { ...agent, agentIdNative: false } : agent)) };
}

describe.each(["claude", "codex"])("the traffic of %s", (provider) => {
  it.each(casesOf(provider))("gives the tree of %s", async (name) => {
    const wire = wireOf(provider, name);
    const trees = await treesAfter(wire);
    const threads = recordedHome(provider, name).threads.filter(({ optional }) => optional !== true);
    expect(threads.flatMap((thread) => differences(asTheWireKnows(thread, wire), trees.get(thread.root) ?? MISSING))).toEqual([]);
  });
});
