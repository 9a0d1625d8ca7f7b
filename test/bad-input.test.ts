/**
 * Files as crashes, full disks, editors and bad wires leave them. Whatever they hold: no crash, no agent lost that a record still speaks of,
 * every model call once, and a line in `doctor` for what could not be read.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seeded } from "../scripts/bench/random.ts";
import { expectNothingLost, look } from "./bad-input/look.ts";
import { MUTATIONS, type Mutation } from "./bad-input/mutations.ts";
import { filesBelow, type RecordedHome, recordedHomes } from "./fixtures.ts";

const SEED = 20_261_115;
const HOMES = recordedHomes("claude");
const scratch = mkdtempSync(join(tmpdir(), "retinue-bad-"));

let count = 0;
function copyOf({ home }: RecordedHome): { home: string; data: string } {
  count += 1;
  const copy = join(scratch, String(count), "home");
  cpSync(home, copy, { recursive: true });
  return { home: copy, data: join(scratch, String(count), "data") };
}

const recordsIn = (home: string) => filesBelow(join(home, ".claude")).filter((path) => /^(projects|sessions)\//.test(path));

/** Spoils some of the files, at least one that it means something for. */
function spoil(home: string, { files, change }: Mutation, seed: number): void {
  const random = seeded(seed);
  const able = recordsIn(home).filter((path) => files.test(path));
  const chosen = new Set(able.filter(() => random.chance(0.5)));
  if (able.length > 0) chosen.add(random.of(able));
  for (const path of chosen) {
    const full = join(home, ".claude", path);
    const bytes = readFileSync(full);
    if (bytes.length > 0) writeFileSync(full, change(bytes, random));
  }
}

describe("every recording", () => {
  it("as it is: the oracle finds everybody, and nothing to complain of", async () => {
    for (const recorded of HOMES) {
      const seen = await look(recorded.home, join(scratch, "none"));
      expectNothingLost(recorded.home, recorded.threads, seen);
      expect(seen.examined.problems.filter((problem) => problem.severity !== "info")).toEqual([]);
    }
  });

  it.each(MUTATIONS)("with $name", async (mutation) => {
    for (const [i, recorded] of HOMES.entries()) {
      const { home, data } = copyOf(recorded);
      spoil(home, mutation, SEED + i);
      const seen = await look(home, data);
      expectNothingLost(home, recorded.threads, seen);
      if (!mutation.loses)
        expect(seen.examined.problems.filter((problem) => problem.severity === "data-loss" && problem.code !== "thread-missing")).toEqual([]);
      rmSync(home, { recursive: true });
    }
  });
});

describe("any recording", () => {
  const cases = fc.record({
    recorded: fc.constantFrom(...HOMES),
    mutations: fc.array(fc.constantFrom(...MUTATIONS), { minLength: 2, maxLength: 3 }),
    seed: fc.nat(),
  });

  it("spoilt in several ways, before it was ever read or after", async () => {
    await fc.assert(
      fc.asyncProperty(cases, fc.boolean(), async ({ recorded, mutations, seed }, readBefore) => {
        const { home, data } = copyOf(recorded);
        if (readBefore) await look(home, data);
        for (const mutation of mutations) spoil(home, mutation, seed);
        expectNothingLost(home, recorded.threads, await look(home, data));
        rmSync(home, { recursive: true });
      }),
      { numRuns: 150, seed: SEED },
    );
  });
});
