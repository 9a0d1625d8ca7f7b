/**
 * Every recording, at every recorded moment: the tree must equal what the model server knows to have happened, and the
 * explanation must agree with the tree. All are read into memory. The first of each product, and every fifteenth, are
 * read by the commands `ls`, `tree` and `explain` too, which must print the same. The recorded processes have ended,
 * which a reader cannot distinguish from a crash.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { explainAgent } from "../../src/app/explain/explain.ts";
import { readMachine } from "../../src/app/machine.ts";
import { listPrice } from "../../src/app/query/prices.ts";
import { resolve } from "../../src/app/query/resolve.ts";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import type { Explanation } from "../../src/core/views/explain.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { inFreshData, retinueJson } from "../support/cli.ts";
import { contradictions } from "../support/explained.ts";
import {
  FIXTURES,
  filesBelow,
  momentFolders,
  RECORDED,
  type RecordedHome,
  type RecordedThread,
  recordedHomes,
} from "../support/fixtures.ts";
import { differences } from "../support/judge.ts";
import { type TextNode, wrongTexts } from "../support/judge-texts.ts";

const stamps = () =>
  filesBelow(FIXTURES).map(
    (path) => `${path} ${statSync(join(FIXTURES, path)).size} ${statSync(join(FIXTURES, path)).mtimeMs}`,
  );
let before: string[] = [];
beforeAll(() => {
  before = stamps();
});
afterAll(() => {
  // The recordings are read-only.
  expect(stamps()).toEqual(before);
});

/** How threads are read: in memory, or by the commands. */
interface Reader {
  tree(root: string): Promise<TextNode & AgentTree>;
  explain(root: string): Promise<Explanation>;
  list(): Promise<readonly Pick<AgentRecord, "sessionId" | "agentId">[]>;
}

async function readerOf(env: Readonly<Record<string, string>>): Promise<Reader> {
  const { library, forest } = await readMachine({ env, price: listPrice });
  const keyOf = (root: string) => resolve(library, root).key;
  return {
    tree: async (root) => treeOf(forest, keyOf(root), listPrice) as TextNode & AgentTree,
    explain: (root) => explainAgent(library, forest, keyOf(root)),
    list: async () => [...library.threads({ limit: 1_000 })],
  };
}

function printer(home: string, env: Readonly<Record<string, string>>): Reader {
  const print = async <T>(...args: string[]) => (await retinueJson(home, args, env)) as T;
  return {
    tree: (root) => print("tree", root),
    explain: (root) => print("explain", root),
    list: () => print("ls", "--limit", "1000"),
  };
}

async function judge(threads: readonly RecordedThread[], reader: Reader): Promise<void> {
  const roots = threads.filter(({ optional }) => !optional);
  for (const thread of roots) {
    const tree = await reader.tree(thread.root);
    expect({ wrong: differences(thread, tree), words: wrongTexts(thread, tree) }).toEqual({ wrong: [], words: [] });
    expect(contradictions(await reader.explain(thread.root), tree)).toEqual([]);
  }
  const optional = new Set(threads.filter((thread) => thread.optional).map(({ root }) => root));
  const shown = (await reader.list())
    .map(({ sessionId, agentId }) => (agentId === null ? sessionId : `${sessionId}/${agentId}`))
    .filter((id) => !optional.has(id));
  expect(shown.sort()).toEqual(roots.map(({ root }) => root).sort());
}

describe.each(RECORDED.map(({ name }) => name))("recordings of %s", (provider) => {
  const homes = recordedHomes(provider);

  it("have a truth for every moment", () => {
    const known = new Set(homes.map(({ name }) => name));
    expect(momentFolders(provider).filter((name) => !known.has(name))).toEqual([]);
  });

  const isPrinted = (home: RecordedHome) => homes.indexOf(home) % 15 === 0;
  it.each(homes.map((recorded) => ({ ...recorded, isPrinted: isPrinted(recorded) })))(
    "$name",
    async ({ home, threads, isPrinted }) => {
      await inFreshData(home, {}, async (env) => {
        await judge(threads, await readerOf(env));
        if (isPrinted) await judge(threads, printer(home, env));
      });
    },
  );
});
