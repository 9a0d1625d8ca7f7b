/**
 * Every parser of external text, with a few fixed inputs and with all inputs that failed before (fixtures/fuzz). `npm
 * run test:fuzz -- --inputs 1000000 --seed 7` tries more.
 */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CORPUS, campaign, faultOf, keptInputs } from "./fuzz/campaign.ts";
import type { Opened } from "./fuzz/target.ts";
import { TARGETS } from "./fuzz/targets.ts";

const SEED = 20_261_117;
const inputsFor = (weight: number) => Math.max(30, weight * 30);

describe.each(TARGETS)("fuzzed: $name", ({ name, weight, open }) => {
  let target: Opened;
  beforeAll(async () => {
    target = await open();
  });
  afterAll(() => target.close?.());

  it("passes for inputs that failed before", async () => {
    for (const { name: file, input } of keptInputs(name))
      expect(await faultOf(target, input), `${name}/${file}`).toBeNull();
    expect(target).toBeDefined();
  });

  it("passes for random inputs", async () => {
    const { tried, failures } = await campaign(target, { inputs: inputsFor(weight), seed: SEED });
    expect(failures.map(({ input, error }) => ({ error, input: input.toString("latin1") }))).toEqual([]);
    expect(tried).toBe(inputsFor(weight));
  });
});

it("has no inputs of removed targets", () => {
  const known = new Set(TARGETS.map(({ name }) => name));
  expect(readdirSync(CORPUS).filter((name) => !known.has(name))).toEqual([]);
});

it("finds a fault, and shrinks its input", async () => {
  const target: Opened = {
    generate: (random) => Buffer.from(Array.from({ length: 200 }, () => 97 + random.below(26))),
    check: (input) => {
      if (input.includes("q")) throw new Error("it has a q");
    },
  };
  const { failures } = await campaign(target, { inputs: 10, seed: SEED });
  expect(failures.map(({ input }) => input.toString())).toEqual(["q"]);
});
