/** Transcripts with missing newlines: several complete records in one line are separate records. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { subtreeOf } from "../../src/core/link/forest.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { FIXTURES, homeEnv } from "../support/fixtures.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "retinue-test-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Everything except the place it was read from. */
const plain = ({ records: _, link, children, ...rest }: AgentTree): unknown => ({
  ...rest,
  link: link === null ? null : { ...link, evidence: link.evidence.map((words) => words.replace(/ \[[^\]]*\]$/, "")) },
  children: children.map(plain),
});

async function shownIn(home: string, name: string) {
  const { library, forest, problems } = await readMachine({
    env: { ...homeEnv(home), RETINUE_HOME: join(folder, name) },
  });
  const events = (
    await Promise.all(forest.roots.map((root) => readEvents(library, forest, subtreeOf(forest, root))))
  ).flat();
  return {
    problems,
    ids: events.map((event) => event.id),
    trees: forest.roots.map((key) => plain(treeOf(forest, key, () => null))),
    events: events.map(({ id: _, ref: __, ...event }) => event),
  };
}

/** Joins every two or three lines of each transcript. */
function joinLines(home: string) {
  let joined = 0;
  for (const name of readdirSync(home, { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".jsonl"),
  )) {
    const lines = readFileSync(join(home, name), "utf8").split("\n");
    const separators = ["", "\n", " ", "\t", "\n"];
    writeFileSync(
      join(home, name),
      lines.map((line, i) => line + (i < lines.length - 2 ? (separators[i % separators.length] ?? "") : "\n")).join(""),
    );
    joined += lines.length;
  }
  expect(joined).toBeGreaterThan(3);
}

describe.each([
  ["claude", "c-nested"],
  ["claude", "v2.0.14"],
  ["codex", "v2-nested"],
  ["codex", "any-fork@0.121.0"],
  ["copilot", "nested"],
  ["gemini", "parallel"],
  ["pi", "parallel"],
])("%s %s with several records in a line", (provider, name) => {
  it("gives the same tree with the same events, each with a unique id", async () => {
    const [asWritten, joined] = [join(folder, "as-written"), join(folder, "joined")];
    for (const home of [asWritten, joined]) cpSync(join(FIXTURES, provider, name), home, { recursive: true });
    joinLines(join(joined, "home"));
    const [expected, found] = [
      await shownIn(join(asWritten, "home"), "one"),
      await shownIn(join(joined, "home"), "two"),
    ];
    expect(JSON.parse(JSON.stringify(found.trees).replaceAll(joined, asWritten))).toEqual(
      JSON.parse(JSON.stringify(expected.trees)),
    );
    expect(found.events).toEqual(expected.events);
    expect(new Set(found.ids).size).toBe(found.ids.length);
    expect(found.problems.map((p) => p.code)).toEqual(expected.problems.map((p) => p.code));
  });
});
