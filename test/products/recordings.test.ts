/**
 * Every recording, and every moment of it, through the commands `ls` and `tree`: the tree must be what the model that
 * was asked knows to have happened. test/cli/same-in-process.test.ts shows that a process of its own prints the same.
 * The processes that were recorded are long gone, which is what a reader sees of a crash.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inFreshData, retinueJson } from "../support/cli.ts";
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
  // Records are read-only, always.
  expect(stamps()).toEqual(before);
});

describe.each(RECORDED.map(({ name }) => name))("recordings of %s", (provider) => {
  const homes = recordedHomes(provider);

  it("have a truth for every moment", () => {
    const told = new Set(homes.map(({ name }) => name));
    expect(momentFolders(provider).filter((name) => !told.has(name))).toEqual([]);
  });

  it.each(homes)("$name", async ({ home, threads }: RecordedHome) => {
    await inFreshData(home, {}, async (env) => {
      for (const thread of threads.filter(({ optional }) => !optional)) {
        const tree = (await retinueJson(home, ["tree", thread.root], env)) as TextNode;
        expect({ wrong: differences(thread, tree), words: wrongTexts(thread, tree) }).toEqual({ wrong: [], words: [] });
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
