/** Reads a home with everything that the command line would show. */
import { join } from "node:path";
import { expect } from "vitest";
import { type Machine, readMachine } from "../../../src/app/machine.ts";
import { examine } from "../../../src/app/query/examine.ts";
import { loadSettings } from "../../../src/app/settings/settings.ts";
import { renderThreads } from "../../../src/cli/commands/ls.ts";
import { renderTree } from "../../../src/cli/render/tree.ts";
import { openTerminal } from "../../../src/cli/terminal.ts";
import type { Provider } from "../../../src/core/ports/provider.ts";
import type { AgentTree } from "../../../src/core/views/agent.ts";
import type { Examination } from "../../../src/core/views/examination.ts";
import { treeOf } from "../../../src/core/views/record.ts";
import { homeEnv, type RecordedThread } from "../fixtures.ts";
import { lost, remainsOf } from "./oracle.ts";

export interface Look {
  readonly machine: Machine;
  readonly shown: readonly AgentTree[];
  readonly examined: Examination;
}

/** `data` is the folder for retinue's own files; it must not contain records. */
export async function look(
  home: string,
  data: string,
  more: { readonly providers?: readonly Provider[] } = {},
): Promise<Look> {
  const env = { ...homeEnv(home), RETINUE_HOME: data };
  const machine = await readMachine({ env, ...more });
  const shown = machine.forest.roots.map((key) => treeOf(machine.forest, key, () => null));
  const terminal = { width: 100, colors: openTerminal({ color: false, quiet: true }).colors };
  const printed = [
    renderThreads(shown, terminal, machine.forest.now),
    ...shown.map((tree) => renderTree(tree, terminal, { all: true })),
  ];
  for (const text of printed) expect(text).not.toMatch(/[^\P{Cc}\n]/u);
  return { machine, shown, examined: examine(machine.library, await loadSettings(env), env, null) };
}

/** What the files still contain is shown, what cannot be read is reported, and every model call counts once. */
export function expectNothingLost(home: string, truth: readonly RecordedThread[], { machine, shown, examined }: Look) {
  const remains = remainsOf(home);
  expect(lost(remains, truth, shown), `in ${home}`).toEqual([]);
  const reported = machine.problems.map((problem) => problem.where);
  const unreported = [...remains.spoilt].filter(
    (path) => !reported.some((where) => where.startsWith(join(home, ".claude", path))),
  );
  expect(unreported, "files with unreadable parts that doctor does not report").toEqual([]);
  expect(examined.problems.reduce((sum, problem) => sum + problem.count, 0)).toBeGreaterThanOrEqual(
    remains.spoilt.size,
  );
  const usages = shown.map((tree) => tree.usage.subtree);
  // Model calls that no record contains, but that follow from the product's totals.
  const revealed = [...machine.forest.agents.values()].reduce((sum, agent) => sum + agent.revealed.length, 0);
  const calls = usages.reduce((sum, usage) => sum + usage.calls, 0) - revealed;
  expect(calls, `model calls in ${home}`).toBeGreaterThanOrEqual(remains.responses.size);
  expect(calls, `model calls in ${home}`).toBeLessThanOrEqual(remains.responses.union(remains.doubtful).size);
  for (const usage of usages)
    for (const number of Object.values(usage))
      expect(number === null || (Number.isFinite(number) && number >= 0)).toBe(true);
}
