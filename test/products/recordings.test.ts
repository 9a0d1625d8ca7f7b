/**
 * Every recording, at every recorded moment, through the commands `ls`, `tree` and `explain`: the tree must equal what
 * the model server knows to have happened, and the explanation must agree with the tree. test/cli/same-in-process.test.ts shows that a separate process prints the same. The
 * recorded processes have ended, which a reader cannot distinguish from a crash.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { Explanation } from "../../src/core/views/explain.ts";
import { inFreshData, retinueJson } from "../support/cli.ts";
import { contradictions } from "../support/explained.ts";
import {
  FIXTURES,
  filesBelow,
  momentFolders,
  RECORDED,
  type RecordedHome,
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

describe.each(RECORDED.map(({ name }) => name))("recordings of %s", (provider) => {
  const homes = recordedHomes(provider);

  it("have a truth for every moment", () => {
    const known = new Set(homes.map(({ name }) => name));
    expect(momentFolders(provider).filter((name) => !known.has(name))).toEqual([]);
  });

  it.each(homes)("$name", async ({ home, threads }: RecordedHome) => {
    await inFreshData(home, {}, async (env) => {
      for (const thread of threads.filter(({ optional }) => !optional)) {
        const tree = (await retinueJson(home, ["tree", thread.root], env)) as TextNode & AgentTree;
        expect({ wrong: differences(thread, tree), words: wrongTexts(thread, tree) }).toEqual({ wrong: [], words: [] });
        const explained = (await retinueJson(home, ["explain", thread.root], env)) as Explanation;
        expect(contradictions(explained, tree)).toEqual([]);
      }
      const listed = (await retinueJson(home, ["ls", "--limit", "1000"], env)) as {
        sessionId: string;
        agentId: string | null;
      }[];
      const optional = new Set(threads.filter((thread) => thread.optional).map(({ root }) => root));
      const shown = listed
        .map(({ sessionId, agentId }) => (agentId === null ? sessionId : `${sessionId}/${agentId}`))
        .filter((id) => !optional.has(id));
      expect(shown.sort()).toEqual(
        threads
          .filter((thread) => !thread.optional)
          .map(({ root }) => root)
          .sort(),
      );
    });
  });
});
