/**
 * One run, observed by several sources: the product's files, its output, its hooks and its telemetry. Together they
 * give one tree, equal to the truth, with each agent once. Without the files, every agent that another source names is
 * still shown.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { threadKey } from "../../src/core/facts/ids.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { homeEnv, RECORDED, type RecordedThread } from "../support/fixtures.ts";
import { differences, type TreeNode } from "../support/judge.ts";
import { type LiveHome, liveHomes } from "../support/live-sources.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-live-sources-"));
afterAll(() => rmSync(scratch, { recursive: true }));
const NOWHERE = join(scratch, "nowhere");
let homes = 0;

/** The tree of a thread, from the product's home, if given, and from the recordings of these live sources. */
async function treeFrom(
  { provider, home, recordings }: LiveHome,
  thread: RecordedThread,
  kinds: readonly string[],
  withFiles: boolean,
) {
  const data = join(scratch, `data-${homes++}`);
  for (const kind of kinds) {
    mkdirSync(join(data, "recordings", provider), { recursive: true });
    cpSync(join(recordings, provider, kind), join(data, "recordings", provider, kind), { recursive: true });
  }
  const machine = await readMachine({ env: { ...homeEnv(withFiles ? home : NOWHERE), RETINUE_HOME: data } });
  const agent = machine.forest.agents.get(threadKey(provider, thread.root));
  return agent === undefined ? null : treeOf(machine.forest, agent.key, () => 0);
}

const nodes = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(nodes)];

/** Counts per agent. */
function counted(tree: AgentTree | null) {
  const rows =
    tree === null
      ? []
      : nodes(tree).map(({ uri, counts: { messages, toolCalls, toolErrors } }) => ({
          uri,
          messages,
          toolCalls,
          toolErrors,
        }));
  return rows.sort((a, b) => (a.uri < b.uri ? -1 : 1));
}

describe.each(RECORDED.map(({ name }) => name).filter((name) => liveHomes(name).length > 0))("%s", (provider) => {
  const live = liveHomes(provider);
  const cases = live.flatMap((home) =>
    home.threads.filter(({ optional }) => !optional).map((thread) => ({ name: home.name, home, thread })),
  );

  it.each(cases)("$name: all live sources together give the same result as one", async ({ home, thread }) => {
    const tree = await treeFrom(home, thread, home.kinds, true);
    expect(tree === null ? ["no tree"] : differences(thread, JSON.parse(JSON.stringify(tree)) as TreeNode)).toEqual([]);
    const files = await treeFrom(home, thread, [], true);
    // An unknown command leaves no files.
    if (files !== null) expect(counted(tree)).toEqual(counted(files));
  });

  it.each(cases.flatMap((one) => one.home.kinds.map((kind) => ({ ...one, kind }))))(
    "$name: $kind alone names all agents that it mentions",
    async ({ home, thread, kind }) => {
      const tree = await treeFrom(home, thread, [kind], false);
      const named = await home.named(kind, thread);
      const shown = tree === null ? [] : nodes(tree);
      expect(named.filter(({ agentId }) => !shown.some((node) => node.agentId === agentId))).toEqual([]);
      const wrong = named.filter(({ agentId, parentAgentId }) => {
        const parent = shown.find((node) => node.agentId === agentId)?.parent;
        return parentAgentId !== undefined && shown.find((node) => node.uri === parent)?.agentId !== parentAgentId;
      });
      expect(wrong).toEqual([]);
    },
  );
});
