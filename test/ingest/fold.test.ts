/** Bulk facts can be folded as they arrive: every forest is the same as without folding. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import type { AgentKey } from "../../src/core/facts/ids.ts";
import type { Observation } from "../../src/core/facts/observation.ts";
import type { Fold } from "../../src/core/link/fold.ts";
import { unfold } from "../../src/core/link/folded.ts";
import type { Forest } from "../../src/core/link/forest.ts";
import { type LinkOptions, link } from "../../src/core/link/link.ts";
import { byPlace } from "../../src/core/link/totals.ts";
import { spansOf } from "../../src/core/views/spans.ts";
import { caseNames, homeEnv, RECORDED, recordedHome } from "../support/fixtures.ts";
import { GrowingFacts } from "../support/growing-facts.ts";
import { history } from "../support/history.ts";
import { answer, notebook, record, thread } from "../support/observations.ts";

const OPTIONS: LinkOptions = { now: Date.parse("2027-01-01T00:00:00.000Z"), liveness: () => "unknown" };

/** A forest as plain data; the order of fields does not matter. */
const plain = ({ ownerOf: _, nameOf: __, facts: ___, agents, ...rest }: Forest) =>
  JSON.stringify({ ...rest, agents: [...agents] }, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Symbol.iterator in value
      ? [...(value as Iterable<unknown>)]
      : Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });

const spansIn = (forest: Forest) => JSON.stringify([...forest.agents.keys()].map((key) => spansOf(forest, key)));

const foldedIn = ({ unfolded, folds }: GrowingFacts): ReadonlyMap<AgentKey, Fold> => unfold(unfolded, folds, []).folded;

/**
 * Checks after each piece that folded and unfolded facts give the same forest. Returns how many agents stayed folded.
 */
function compare(facts: readonly Observation[], pieces: number, options: LinkOptions): number {
  const growing = new GrowingFacts();
  const size = Math.max(1, Math.ceil(facts.length / pieces));
  for (let from = 0; from < facts.length; from += size) {
    growing.add(facts.slice(from, from + size));
    const [folded, whole] = [
      link(growing.unfolded, options, growing.folds),
      link(facts.slice(0, from + size), options),
    ];
    expect(plain(folded)).toBe(plain(whole));
    expect(spansIn(folded)).toBe(spansIn(whole));
    const keys = [...new Set(facts.slice(0, from + size).flatMap((o) => o.keys))];
    expect(keys.map((key) => folded.ownerOf(key))).toEqual(keys.map((key) => whole.ownerOf(key)));
  }
  return foldedIn(growing).size;
}

let [folded, agents] = [0, 0];

describe.each(RECORDED.map(({ name }) => name))("recordings of %s", (provider) => {
  it.each(caseNames(provider))("%s: the forest is the same after every single fact", async (name) => {
    const { home } = recordedHome(provider, name);
    const { library } = await readMachine({ env: homeEnv(home) });
    const rows = library.store.roots({ under: library.under, limit: Number.MAX_SAFE_INTEGER });
    const threads = library.store.related(rows.map(({ key }) => key));
    const facts = library.store.facts(threads, library.under).observations.toSorted(byPlace);
    folded += compare(facts, facts.length, OPTIONS);
    agents += new Set(facts.flatMap((o) => (o.type === "record" ? [o.speaker] : []))).size;
    expect(folded).toBeLessThanOrEqual(agents);
  });
});

it("most agents of all recordings stay folded", () => {
  expect(folded).toBeGreaterThan(agents / 2);
});

describe("generated histories", () => {
  it("give the same forest if folded in pieces", () => {
    fc.assert(
      fc.property(history, fc.integer({ min: 1, max: 12 }), ({ observations, manual }, pieces) => {
        compare(observations.toSorted(byPlace), pieces, { ...OPTIONS, manual });
      }),
      { numRuns: 80 },
    );
  });

  it("of one agent that only appends stay folded, with few facts kept", () => {
    const book = notebook();
    for (let i = 0; i < 900; i += 3) {
      book.see({ by: thread("t"), at: i + 1, keys: [`u${i}`] }, record({ role: "user", state: "open" }));
      book.see({ by: thread("t"), at: i + 2, keys: [`r${i}`, `m${i}`] }, record({ text: `words ${i}` }));
      book.see({ by: thread("t"), at: i + 2, keys: [`r${i}`, `m${i}`] }, answer(`m${i}`, i));
    }
    expect(compare(book.observations, 9, OPTIONS)).toBe(1);
    const growing = new GrowingFacts();
    growing.add(book.observations);
    expect([growing.unfolded.length, growing.folds.length]).toEqual([0, 1]);
    expect((growing.folds[0]?.bytes ?? 0) / book.observations.length).toBeLessThan(120);
  });

  it("with one response in two distant places are not folded", () => {
    const book = notebook();
    for (let i = 0; i < 60; i += 1)
      book.see({ by: thread("t"), at: i, keys: [`k${i}`] }, answer(i === 59 ? "m0" : `m${i}`, i));
    expect(compare(book.observations, 1, OPTIONS)).toBe(0);
  });
});
