/** Agents that start agents of other products, or of their own, with shell commands (`fixtures/lineage`). */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { addUsage, NO_USAGE } from "../../src/core/facts/usage.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { inFreshData, retinueJson } from "../support/cli.ts";
import { caseNames, FIXTURES } from "../support/fixtures.ts";

type Usage = Readonly<Record<string, number>>;

interface External {
  readonly child: string;
  readonly parent: string;
  /** Omitted if the model does not know it. */
  readonly toolCallId?: string | null;
  readonly toolCallAlias?: string;
  /** Nothing in the records decides which agent started it. */
  readonly undecidable?: string;
  readonly fromFiles: string;
}

interface Truth {
  readonly threads: readonly {
    readonly uri: string;
    readonly agents: readonly { readonly agentId: string | null }[];
  }[];
  readonly external: readonly External[];
  readonly notLinked: readonly { readonly child: string; readonly parent: string }[];
  readonly continued?: readonly { readonly child: string; readonly parent: string }[];
  readonly sums: readonly { readonly root: string; readonly own: Usage; readonly withExternal: Usage }[];
  readonly moments?: Readonly<Record<string, { readonly threads: readonly { readonly uri: string }[] }>>;
}

const FOLDER = join(FIXTURES, "lineage");
const SUMMED = ["calls", "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"] as const;

const truthOf = (name: string): Truth => JSON.parse(readFileSync(join(FOLDER, name, "truth.json"), "utf8"));
const all = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(all)];
const isOpen = ({ undecidable, fromFiles }: External) => undecidable !== undefined || fromFiles.startsWith("ambiguous");

/** All trees of a home. */
async function treesIn(home: string): Promise<AgentTree[]> {
  return inFreshData(home, {}, async ({ RETINUE_HOME = "" }) => {
    const roots = (await retinueJson(home, ["ls"], { RETINUE_HOME })) as { uri: string }[];
    const trees: AgentTree[] = [];
    for (const { uri } of roots) trees.push((await retinueJson(home, ["tree", uri], { RETINUE_HOME })) as AgentTree);
    return trees;
  });
}

describe.each(caseNames("lineage", FOLDER))("%s", (name) => {
  const truth = truthOf(name);
  const home = join(FOLDER, name, "home");

  it("links every thread to the agent and the call that started it, and no other", async () => {
    const agents = (await treesIn(home)).flatMap(all);
    const byUri = new Map(agents.map((agent) => [agent.uri, agent]));
    expect(byUri.size).toBe(agents.length);
    for (const edge of truth.external) {
      const child = byUri.get(edge.child);
      if (isOpen(edge) && child?.parent === null) continue;
      expect(child).toMatchObject({ parent: edge.parent, kind: "external" });
      if (edge.toolCallId !== undefined)
        expect([edge.toolCallId, edge.toolCallAlias, ...(isOpen(edge) ? [null] : [])]).toContain(
          child?.link?.toolCallId,
        );
    }
    const started = new Set(truth.external.map(({ child }) => child));
    for (const { uri } of truth.threads) if (!started.has(uri)) expect(byUri.get(uri)).toMatchObject({ parent: null });
    for (const { child } of [...truth.notLinked, ...(truth.continued ?? [])])
      expect(byUri.get(child)).toMatchObject({ parent: null });
  });

  it("adds the usage of linked threads to the sums", async () => {
    const trees = await treesIn(home);
    // Each model call is in one tree.
    expect(trees.reduce((total, { usage }) => total + usage.subtree.calls, 0)).toBe(
      trees.flatMap(all).reduce((total, { usage }) => total + usage.own.calls + (usage.internal?.calls ?? 0), 0),
    );
    const linked = new Set(trees.flatMap(all).flatMap(({ kind, uri }) => (kind === "external" ? [uri] : [])));
    for (const { root, withExternal, own } of truth.sums) {
      const tree = trees.find(({ uri }) => uri === root);
      if (linked.has(root)) continue;
      const pick = (usage: (agent: AgentTree) => Usage) =>
        Object.fromEntries(
          SUMMED.map((field) => [
            field,
            all(tree as AgentTree).reduce((total, agent) => total + (usage(agent)[field] ?? 0), 0),
          ]),
        );
      const isWhole = truth.external.every(({ child }) => linked.has(child));
      const expected = isWhole ? withExternal : own;
      // Some truths contain the product's internal calls.
      const shown = [
        pick(({ usage }) => usage.own as unknown as Usage),
        pick(({ usage }) => addUsage(usage.own, usage.internal ?? NO_USAGE) as unknown as Usage),
      ];
      expect(shown).toContainEqual(Object.fromEntries(SUMMED.map((field) => [field, expected[field]])));
    }
  });

  it("says between what it cannot be decided", async () => {
    const open = (await treesIn(home)).filter(({ uri }) => truth.external.some((edge) => edge.child === uri));
    expect(open.map(({ uri }) => uri).sort()).toEqual(
      truth.external
        .filter(isOpen)
        .map(({ child }) => child)
        .sort(),
    );
    for (const { uri } of open) {
      const why = (await retinueJson(home, ["why", uri])) as { undecided: string[] };
      expect(why.undecided.length).toBeGreaterThan(1);
    }
  });

  const moments = readdirSync(join(FOLDER, name)).filter((folder) => folder.startsWith("home-at-"));
  it.each(moments)("links threads while they run: %s", async (moment) => {
    const agents = (await treesIn(join(FOLDER, name, moment))).flatMap(all);
    const linked = agents.flatMap(({ kind, uri, parent }) => (kind === "external" ? [{ child: uri, parent }] : []));
    const begun = truth.external.filter(({ child }) => agents.some(({ uri }) => uri === child));
    expect(linked.map(({ child, parent }) => ({ child, parent }))).toEqual(
      begun.filter((edge) => !isOpen(edge)).map(({ child, parent }) => ({ child, parent })),
    );
  });
});

it("an agent waits for the thread that its command started, although that is inferred", async () => {
  const home = join(FOLDER, "own-codex-claude/home");
  const { items } = (await retinueJson(home, ["tree", "codex://latest", "--timeline"])) as {
    items: { uri: string; spans: { kind: string; agents: string[] }[] }[];
  };
  const [root, child] = items;
  expect(root?.spans.filter(({ kind }) => kind === "wait").map(({ agents }) => agents)).toEqual([[child?.uri]]);
});
