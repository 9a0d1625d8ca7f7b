/** Looks at a home with everything the command line would show of it. */
import { join } from "node:path";
import { expect } from "vitest";
import { type Machine, readMachine } from "../../../src/app/machine.ts";
import { type Examination, examine } from "../../../src/app/query/examine.ts";
import { loadSettings } from "../../../src/app/settings/settings.ts";
import { renderThreads } from "../../../src/cli/commands/ls.ts";
import { renderTree } from "../../../src/cli/render/tree.ts";
import { openTerminal } from "../../../src/cli/terminal.ts";
import type { Provider } from "../../../src/core/ports/provider.ts";
import type { AgentTree } from "../../../src/core/views/agent.ts";
import { treeOf } from "../../../src/core/views/record.ts";
import { homeEnv, type RecordedThread } from "../fixtures.ts";
import { lost, remainsOf } from "./oracle.ts";

export interface Look {
  readonly machine: Machine;
  readonly shown: readonly AgentTree[];
  readonly examined: Examination;
}

/** `data` is where retinue may keep what it likes; it must not be where records are. */
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

/** What the files still say is shown, what they no longer say is reported, and every model call counts once. */
export function expectNothingLost(home: string, truth: readonly RecordedThread[], { machine, shown, examined }: Look) {
  const remains = remainsOf(home);
  expect(lost(remains, truth, shown), `in ${home}`).toEqual([]);
  const told = machine.problems.map((problem) => problem.where);
  const untold = [...remains.spoilt].filter(
    (path) => !told.some((where) => where.startsWith(join(home, ".claude", path))),
  );
  expect(untold, "files that hold what cannot be read, and doctor says nothing").toEqual([]);
  expect(examined.problems.reduce((sum, problem) => sum + problem.count, 0)).toBeGreaterThanOrEqual(
    remains.spoilt.size,
  );
  const usages = shown.map((tree) => tree.usage.subtree);
  // Calls that no record holds, but the product's totals reveal.
  const revealed = [...machine.forest.agents.values()].reduce((sum, agent) => sum + agent.revealed.length, 0);
  const calls = usages.reduce((sum, usage) => sum + usage.calls, 0) - revealed;
  expect(calls, `model calls in ${home}`).toBeGreaterThanOrEqual(remains.responses.size);
  expect(calls, `model calls in ${home}`).toBeLessThanOrEqual(remains.responses.union(remains.doubtful).size);
  for (const usage of usages)
    for (const number of Object.values(usage))
      expect(number === null || (Number.isFinite(number) && number >= 0)).toBe(true);
}
