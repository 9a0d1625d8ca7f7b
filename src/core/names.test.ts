import { describe, expect, it } from "vitest";
import { agentKey, callKey, observationId, recordKey, threadKey } from "./ids.ts";
import { link } from "./link.ts";
import type { Fact, Observation } from "./observation.ts";

const THREAD = threadKey("toy", "t");
const [NAMED, UNNAMED] = [agentKey("toy", "t", "a1"), agentKey("toy", "t", "~msg")];
const CALL = callKey("toy", "c1");
const RECORD = { type: "record", role: "assistant", stands: "answered", certain: true, calls: [], results: [], text: "done", message: true } as const;
const TOKENS = { inputTokens: 1, outputTokens: 2, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 };

let number = 0;
const says = (speaker: typeof THREAD, at: number, fact: Fact, more: Partial<Observation> = {}): Observation => {
  number += 1;
  return { ...fact, id: observationId("f", number), at, speaker, keys: [], order: number, ...more } as Observation;
};
const linked = (facts: Observation[]) => link(facts, { now: 100, liveness: () => "unknown" });
const call = (response: string, more: Partial<Fact> = {}): Fact =>
  ({ type: "model-call", response: recordKey("toy", response), model: "m", tokens: TOKENS, chars: 0, ended: true, ...more }) as Fact;

const spawn: Fact = { type: "spawn-called", call: CALL, tool: "Task", makes: "one", prompt: "p", agentType: null, description: null, name: null, offers: [] };

describe("an agent that was known by another name first", () => {
  it("is one agent, with all that was said under either name, in any order", () => {
    const facts = [
      says(THREAD, 1, spawn),
      says(UNNAMED, 2, RECORD, { keys: [recordKey("toy", "m1")] }),
      says(UNNAMED, 2, call("m1"), { keys: [recordKey("toy", "m1")] }),
      says(THREAD, 3, { type: "call-spawned", call: CALL, child: NAMED, rule: "r", source: "parent_rollout", says: "names it" }),
      says(THREAD, 3, { type: "agent-aliased", alias: UNNAMED, agent: NAMED }),
    ];
    for (const order of [facts, facts.toReversed()]) {
      const { agents } = linked(order);
      expect([...agents.keys()].sort()).toEqual([THREAD, NAMED]);
      expect(agents.get(NAMED)).toMatchObject({ parent: THREAD, answer: "done" });
      expect(agents.get(NAMED)?.calls).toHaveLength(1);
    }
  });
});

describe("what a witness says", () => {
  const keys = [recordKey("toy", "m1")];

  it("of a record that the product keeps itself, is the product's to say whose it is", () => {
    const facts = [
      says(UNNAMED, 2, RECORD, { keys, witness: true }),
      says(UNNAMED, 2, call("m1"), { keys, witness: true }),
      says(NAMED, 50, RECORD, { keys }),
      says(NAMED, 50, call("m1"), { keys }),
    ];
    const { agents } = linked(facts);
    expect([...agents.keys()].sort()).toEqual([THREAD, NAMED]);
    expect(agents.get(NAMED)?.calls).toHaveLength(1);
  });

  it("counts by itself where the product keeps nothing", () => {
    expect(linked([says(UNNAMED, 2, call("m1"), { keys, witness: true })]).agents.get(UNNAMED)?.calls).toHaveLength(1);
  });

  it("of an answer that the product knows by another name, counts once; a second one like it counts again", () => {
    const own = says(THREAD, 1, call("total-1"));
    const seen = (id: string) => says(THREAD, 1, call(id, { nameless: true } as Partial<Fact>));
    expect(linked([own, seen("m1")]).agents.get(THREAD)?.calls).toHaveLength(1);
    expect(linked([own, seen("m1"), seen("m2")]).agents.get(THREAD)?.calls).toHaveLength(2);
  });
});
