/**
 * Rollouts damaged by crashes, full disks, editors and bad transfers: no crash, no lost thread whose file exists, no
 * response counted twice, and a line in `doctor` for what could not be read. `FUZZ_RUNS=2000 FUZZ_SEED=7 npx vitest run
 * test/products/codex-bad-input.test.ts` tries more.
 */
import { cpSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Random, seeded } from "../../scripts/bench/random.ts";
import { provider as codex } from "../../src/providers/codex/provider.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import { look } from "../support/bad-input/look.ts";
import { MUTATIONS, type Mutation } from "../support/bad-input/mutations.ts";
import { filesBelow, type RecordedHome, recordedHomes } from "../support/fixtures.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_116);
const RUNS = Number(process.env.FUZZ_RUNS ?? 12);
const ID = /([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/;
/** Mutations that leave nothing of the file readable. */
const RUINS = new Set(["nothing but junk", "UTF-16"]);
const scratch = scratchFolder();
/** Compressed files are readable as a whole or not at all. */
const HOMES = recordedHomes("codex").filter(({ name }) => !name.includes("packed"));

const rollouts = (home: string) => filesBelow(home).filter((path) => ID.test(path));

function spoil(home: string, { change }: Mutation, random: Random): string[] {
  const all = rollouts(home);
  const chosen = new Set(all.filter(() => random.chance(0.5)).concat(random.of(all)));
  for (const path of chosen) writeFileSync(join(home, path), change(readFileSync(join(home, path)), random));
  return [...chosen];
}

/** Every thread whose file contains a line is shown; an unfinished first line is still being written. */
function expectNobodyLost(home: string, shown: ReadonlySet<string>) {
  const there = rollouts(home).filter((path) =>
    /\S.*\n/.test(readFileSync(join(home, path), "latin1").replaceAll("\0", "")),
  );
  expect(
    there.map((path) => ID.exec(path)?.[1] ?? "").filter((id) => !shown.has(id)),
    `in ${home}`,
  ).toEqual([]);
}

const callsIn = ({ threads }: RecordedHome) =>
  threads.reduce((sum, { agents }) => sum + agents.reduce((n, agent) => n + (agent.calls ?? 0), 0), 0);

describe.each(MUTATIONS.filter(({ files }) => files.test("x.jsonl")))("a rollout with $name", (mutation) => {
  it(
    "loses no agent, counts nothing twice, and is reported",
    async () => {
      const random = seeded(SEED);
      for (let run = 0; run < RUNS; run += 1) {
        const recorded = random.of(HOMES);
        const home = join(scratch(), `${mutation.name}-${run}`, "home");
        cpSync(recorded.home, home, { recursive: true });
        const spoilt = spoil(home, mutation, random);
        const { machine, shown, examined } = await look(home, join(home, "..", "data"), { providers: [codex] });
        expectNobodyLost(
          home,
          new Set([...machine.forest.agents.values()].flatMap((a) => [a.sessionId, a.agentId ?? ""])),
        );
        const calls = shown.reduce((sum, tree) => sum + tree.usage.subtree.calls, 0);
        // If a fork's totals continue those of its parent, its own part is the difference, and the lines that show it
        // may be lost.
        const isSure =
          mutation.name !== "lines in any order" && !["fork", "any-v2"].some((part) => recorded.name.includes(part));
        if (isSure) expect(calls, `calls in ${home}`).toBeLessThanOrEqual(callsIn(recorded));
        if (RUINS.has(mutation.name) && spoilt.some((path) => statSync(join(home, path)).size > 0))
          expect(examined.problems).not.toEqual([]);
        rmSync(join(home, ".."), { recursive: true });
      }
    },
    60_000 + RUNS * 1_000,
  );
});
