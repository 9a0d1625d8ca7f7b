import fc from "fast-check";
import { expect, it } from "vitest";
import { history } from "../../../test/support/history.ts";
import { FactColumns } from "../../core/facts/fact-columns.ts";
import { type AgentKey, observationId, placeName, threadOf } from "../../core/facts/ids.ts";
import type { Observation } from "../../core/facts/observation.ts";
import { crossKeys, threadsIn } from "../../core/link/mentions.ts";
import { keysByThread } from "./joins.ts";

/** The keys of each thread, from the facts one by one. */
function expected(facts: readonly Observation[]): Map<AgentKey, Set<string>> {
  const keys = new Map<AgentKey, Set<string>>();
  const keysOf = (thread: AgentKey) => keys.get(thread) ?? keys.set(thread, new Set()).get(thread);
  for (const fact of facts) {
    for (const thread of threadsIn(fact)) keysOf(thread);
    for (const key of crossKeys(fact)) keysOf(threadOf(fact.speaker))?.add(key);
  }
  return keys;
}

it("the keys that threads may share are those of the facts, in columns or not", () => {
  fc.assert(
    fc.property(history, fc.boolean(), ({ observations }, isPlaced) => {
      const facts = isPlaced
        ? observations.map((fact, i) => ({ ...fact, order: i, id: observationId(placeName("f", i), 0) }))
        : observations;
      const found = [...keysByThread(FactColumns.of("f", facts))].map(([key, list]) => [key, new Set(list)] as const);
      expect(new Map(found)).toEqual(expected(facts));
    }),
    { numRuns: 200 },
  );
});
