import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { history } from "../../../test/support/history.ts";
import { agent, answer, call, notebook, record, thread } from "../../../test/support/observations.ts";
import { FactColumns } from "./fact-columns.ts";
import { type ObservationId, observationId, placeName } from "./ids.ts";
import type { Observation } from "./observation.ts";

const sorted = (facts: Iterable<Observation>) =>
  [...facts].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.order - b.order));

/** What is left of facts after they were saved as JSON. */
function saved(columns: FactColumns): Observation[] {
  const restored = new FactColumns(columns.path, JSON.parse(JSON.stringify(columns.save())));
  return [...columns.rare, ...restored];
}

/** Facts with ids by their position in a file, as parsers give them. */
const inFile = (facts: readonly Observation[], path: string): Observation[] =>
  facts.map((fact, i) => ({ ...fact, order: i + 1, id: observationId(placeName(path, i + 1), i % 13) }));

describe("facts in columns", () => {
  it("are returned as they were added, and after they were saved", () => {
    fc.assert(
      fc.property(history, fc.boolean(), ({ observations }, isPlaced) => {
        const facts = isPlaced ? inFile(observations, "/a/file") : observations;
        const columns = FactColumns.of("/a/file", facts);
        expect(columns.length).toBe(facts.length);
        expect(sorted(columns)).toEqual(sorted(facts));
        expect(sorted(saved(columns))).toEqual(sorted(facts));
        expect(columns.speakers).toEqual(new Set(facts.map((fact) => fact.speaker)));
      }),
      { numRuns: 200 },
    );
  });

  it("keep every optional field", () => {
    const book = notebook();
    const by = thread("t");
    const tool = { call: call("c"), name: "Ask", at: 7, waitsFor: "an answer", awaitsAgents: true } as const;
    book.see({ by, at: 5, keys: ["r", "m"] }, record({ calls: [tool], turn: "open", error: "no" }));
    book.see({ by, at: 0, keys: [] }, record({ results: [{ call: tool.call, isError: true, at: 9 }], text: "" }));
    const more = { vendor: "v", costUsd: null, rows: "x", alias: "y", fingerprints: ["z"], askedAt: 0, request: "q" };
    const flags = { nameless: true, fromTotals: true, fast: true, outputOnly: true, outsideTotals: true };
    book.see({ by, at: 6, keys: ["r", "m"] }, { ...answer("m", 3), ...more, ...flags } as never);
    book.see({ by: agent("t", "a"), at: 6, keys: ["r"] }, answer("other", 3));
    const facts = inFile(book.observations, "f").map((fact) => (fact.at === 0 ? { ...fact, at: null } : fact));
    const columns = FactColumns.of("f", facts);
    expect(columns.rare).toEqual([]);
    expect(sorted(saved(columns))).toEqual(sorted(facts));
  });

  it("name the keys of a record and of a call only once", () => {
    const book = notebook();
    const by = thread("t");
    for (const [i, key] of ["r1", "r2", "r3"].entries()) {
      book.see({ by, at: 3 * i, keys: [key, "m"] }, record({ calls: [{ call: call(key), name: "Ask" }] }));
      if (i !== 1) book.see({ by, at: 3 * i + 1, keys: [key, "m"] }, answer("m", i));
    }
    const results = ["r3", "r1", "unknown"].map((key) => ({ call: call(key), isError: false }));
    book.see({ by, at: 9, keys: ["r4"] }, record({ results }));
    book.see({ by, at: 9, keys: ["r5"] }, answer("other", 1));
    const facts = inFile(book.observations, "f");
    // Parsers give all facts of a record the same list of keys.
    const shared = facts.map((fact, i) =>
      fact.type === "model-call" && i < 6 ? { ...fact, keys: facts[i - 1]?.keys ?? [] } : fact,
    );
    const columns = FactColumns.of("f", shared);
    expect(sorted(saved(columns))).toEqual(sorted(facts));
    expect(columns.save()?.calls.own).toEqual([0, 0, "toy:r5"]);
    expect(columns.save()?.records.resultKeys).toEqual([1, 3, "toy:unknown"]);
  });

  it("are objects if they do not fit: odd ids, times, keys or origins", () => {
    const book = notebook();
    book.see({ by: thread("t"), at: 1, keys: ["r"] }, record({}));
    const [fact] = inFile(book.observations, "f") as [Observation];
    const odd: Observation[] = [
      { ...fact, id: "elsewhere:1#0" as ObservationId },
      { ...fact, id: "f:1#00" as ObservationId },
      { ...fact, id: "f:1#x" as ObservationId },
      { ...fact, at: 1.5 },
      { ...fact, at: 8.64e15 },
      { ...fact, origin: "hook" },
      { ...fact, keys: [...fact.keys, ...fact.keys, ...fact.keys] },
    ];
    const columns = FactColumns.of("f", odd);
    expect(columns.rare).toEqual(odd);
    expect(columns.save()).toBeNull();
  });
});
