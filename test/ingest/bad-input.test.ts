/**
 * Files damaged by crashes, full disks, editors and bad transfers. No crash, no lost agent that a record still names,
 * every model call counted once, and a line in `doctor` for what could not be read. `FUZZ_RUNS=5000 FUZZ_SEED=7 npx
 * vitest run test/ingest/bad-input.test.ts` tries more. New failures are added to fixtures/regressions with a note.
 */
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seeded } from "../../scripts/bench/random.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import { expectNothingLost, look } from "../support/bad-input/look.ts";
import { MUTATIONS, type Mutation } from "../support/bad-input/mutations.ts";
import { caseNames, FIXTURES, filesBelow, type RecordedHome, recordedHomes } from "../support/fixtures.ts";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_115);
const RUNS = Number(process.env.FUZZ_RUNS ?? 25);
const SPREAD = 6;
/** For damage that happens most often. */
const OFTEN = 24;
const TIMEOUT = 60_000 + RUNS * 500;

const scratch = scratchFolder();
const HOMES = recordedHomes("claude");

let copies = 0;
function copyOf({ home }: RecordedHome): { home: string; data: string } {
  copies += 1;
  const copy = join(scratch(), `spoilt-${copies}`, "home");
  cpSync(home, copy, { recursive: true });
  return { home: copy, data: join(copy, "..", "data") };
}

/** Damages some of the files, at least one that the mutation applies to. */
function spoil(home: string, { files, change }: Mutation, seed: number): void {
  const random = seeded(seed);
  const root = join(home, ".claude");
  const able = filesBelow(root).filter((path) => /^(projects|sessions)\//.test(path) && files.test(path));
  const chosen = new Set(able.filter(() => random.chance(0.5)));
  if (able.length > 0) chosen.add(random.of(able));
  for (const path of chosen) {
    const bytes = readFileSync(join(root, path));
    if (bytes.length > 0) writeFileSync(join(root, path), change(bytes, random));
  }
}

describe("every recording", () => {
  it("without a mutation has all agents and no problems according to the oracle", async () => {
    for (const recorded of HOMES) {
      const seen = await look(recorded.home, join(scratch(), "none"));
      expectNothingLost(recorded.home, recorded.threads, seen);
      expect(seen.examined.problems.filter((problem) => problem.severity !== "info")).toEqual([]);
    }
  });

  it.each(MUTATIONS)(
    "with $name",
    async (mutation) => {
      const random = seeded(SEED);
      const chosen = Array.from({ length: mutation.often ? OFTEN : SPREAD }, () => random.of(HOMES));
      for (const [i, recorded] of chosen.entries()) {
        const { home, data } = copyOf(recorded);
        spoil(home, mutation, SEED + i);
        const seen = await look(home, data);
        expectNothingLost(home, recorded.threads, seen);
        const losses = seen.examined.problems.filter(
          ({ severity, code }) => severity === "data-loss" && code !== "thread-missing",
        );
        if (!mutation.loses) expect(losses).toEqual([]);
        rmSync(home, { recursive: true });
      }
    },
    TIMEOUT,
  );
});

describe("any recording", () => {
  const cases = fc.record({
    recorded: fc.constantFrom(...HOMES.map((home) => new Named(home))),
    mutations: fc.array(fc.constantFrom(...MUTATIONS.map((mutation) => new Named(mutation))), {
      minLength: 2,
      maxLength: 3,
    }),
    seed: fc.nat(),
    readBefore: fc.boolean(),
  });

  it(
    "damaged in several ways, before or after the first sync",
    async () => {
      await fc.assert(
        fc.asyncProperty(cases, async ({ recorded, mutations, seed, readBefore }) => {
          const { home, data } = copyOf(recorded.thing);
          if (readBefore) await look(home, data);
          for (const mutation of mutations) spoil(home, mutation.thing, seed);
          expectNothingLost(home, recorded.thing.threads, await look(home, data));
          rmSync(home, { recursive: true });
        }),
        { numRuns: RUNS, seed: SEED },
      );
    },
    TIMEOUT,
  );
});

describe("a regression", () => {
  it.each(caseNames("regressions"))("%s", async (name) => {
    const about = JSON.parse(readFileSync(join(FIXTURES, "regressions", name, "about.json"), "utf8")) as Regression;
    const home = join(FIXTURES, "regressions", name, "home");
    const seen = await look(home, join(scratch(), "none"));
    const shown = Object.fromEntries(
      seen.shown.map((tree) => [tree.sessionId, tree.children.map((child) => child.agentId).sort()]),
    );
    expect(shown).toEqual(about.shown);
    expect(seen.examined.problems.map((problem) => problem.code).sort()).toEqual(about.problems);
    expect(about.note).not.toBe("");
  });
});

interface Regression {
  readonly note: string;
  /** The agents below each thread, by thread id. */
  readonly shown: Readonly<Record<string, readonly string[]>>;
  /** Problems reported by `doctor`. */
  readonly problems: readonly string[];
}

/** Prints the name of its content in failure messages. */
class Named<T extends { readonly name: string }> {
  readonly thing: T;

  constructor(thing: T) {
    this.thing = thing;
  }

  [fc.toStringMethod](): string {
    return this.thing.name;
  }
}
