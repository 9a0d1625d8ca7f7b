import { describe, expect, it } from "vitest";
import { agentKey, callKey, observationId, recordKey, threadKey } from "../facts/ids.ts";
import type { Fact, Observation } from "../facts/observation.ts";
import { link } from "./link.ts";

const THREAD = threadKey("toy", "t");
const [NAMED, UNNAMED] = [agentKey("toy", "t", "a1"), agentKey("toy", "t", "~msg")];
const CALL = callKey("toy", "c1");
const RECORD = {
  type: "record",
  role: "assistant",
  state: "answered",
  certain: true,
  calls: [],
  results: [],
  text: "done",
  message: true,
} as const;
const TOKENS = {
  inputTokens: 1,
  outputTokens: 2,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
};

let number = 0;
const observed = (speaker: typeof THREAD, at: number, fact: Fact, more: Partial<Observation> = {}): Observation => {
  number += 1;
  return { ...fact, id: observationId("f", number), at, speaker, keys: [], order: number, ...more } as Observation;
};
const linked = (facts: Observation[]) => link(facts, { now: 100, liveness: () => "unknown" });
const call = (response: string, more: Partial<Fact> = {}): Fact =>
  ({
    type: "model-call",
    response: recordKey("toy", response),
    model: "m",
    tokens: TOKENS,
    chars: 0,
    ended: true,
    ...more,
  }) as Fact;

const spawn: Fact = {
  type: "spawn-called",
  call: CALL,
  tool: "Task",
  makes: "one",
  prompt: "p",
  agentType: null,
  description: null,
  name: null,
  offers: [],
};

describe("an agent that was first known by another name", () => {
  it("is one agent with the facts of both names, in any order", () => {
    const facts = [
      observed(THREAD, 1, spawn),
      observed(UNNAMED, 2, RECORD, { keys: [recordKey("toy", "m1")] }),
      observed(UNNAMED, 2, call("m1"), { keys: [recordKey("toy", "m1")] }),
      observed(THREAD, 3, {
        type: "call-spawned",
        call: CALL,
        child: NAMED,
        rule: "r",
        source: "parent_rollout",
        says: "names it",
      }),
      observed(THREAD, 3, { type: "agent-aliased", alias: UNNAMED, agent: NAMED }),
    ];
    for (const order of [facts, facts.toReversed()]) {
      const { agents } = linked(order);
      expect([...agents.keys()].sort()).toEqual([THREAD, NAMED]);
      expect(agents.get(NAMED)).toMatchObject({ parent: THREAD, answer: "done" });
      expect(agents.get(NAMED)?.calls).toHaveLength(1);
    }
  });
});

describe("facts that mention an agent by an alias", () => {
  const OTHER = agentKey("toy", "t", "~other");
  const alias = (from: typeof THREAD, to: typeof THREAD): Fact => ({ type: "agent-aliased", alias: from, agent: to });
  const keysOf = (facts: Observation[]) =>
    [facts, facts.toReversed()].map((order) => [...linked(order).agents.keys()].sort());

  it("leave one agent at the end of a chain of aliases", () => {
    const facts = [
      observed(OTHER, 1, RECORD),
      observed(THREAD, 2, alias(OTHER, UNNAMED)),
      observed(THREAD, 2, alias(UNNAMED, NAMED)),
      observed(NAMED, 3, RECORD),
    ];
    expect(keysOf(facts)).toEqual([
      [THREAD, NAMED],
      [THREAD, NAMED],
    ]);
    expect(linked(facts).nameOf(OTHER)).toBe(NAMED);
  });

  it("leave one agent if two aliases refer to each other", () => {
    const facts = [
      observed(NAMED, 1, RECORD),
      observed(THREAD, 2, alias(NAMED, UNNAMED)),
      observed(THREAD, 2, alias(UNNAMED, NAMED)),
      observed(UNNAMED, 3, RECORD),
    ];
    expect(keysOf(facts)).toEqual([
      [THREAD, NAMED],
      [THREAD, NAMED],
    ]);
  });

  const facts: Fact[] = [
    { type: "waits", agent: UNNAMED, for: "a permission", says: "for a permission" },
    { type: "agent-described", agent: NAMED, forkedFrom: UNNAMED },
    { type: "thread-titled", of: UNNAMED, title: "title", rank: 1 },
    { type: "process-seen", thread: UNNAMED, process: { lock: "lock" }, waitingFor: null },
    { type: "message-sent", to: UNNAMED },
    {
      type: "parent-named",
      child: UNNAMED,
      parent: THREAD,
      rule: "r",
      source: "protocol",
      confidence: 1,
      says: "names it",
    },
  ];
  it.each(facts)("leave no second agent: $type", (fact) => {
    const all = [observed(NAMED, 1, RECORD), observed(THREAD, 2, fact), observed(THREAD, 3, alias(UNNAMED, NAMED))];
    expect(keysOf(all)).toEqual([
      [THREAD, NAMED],
      [THREAD, NAMED],
    ]);
  });
});

describe("an agent that a copy of its thread names under its own id", () => {
  it("belongs to the thread that called it, also if the copy contains newer records of yet another thread", () => {
    const [other, copy] = [threadKey("toy", "another"), threadKey("toy", "copy")];
    const by = (speaker: typeof THREAD, at: number, key: string, fact: Fact = RECORD) =>
      observed(speaker, at, fact, { keys: [recordKey("toy", key)] });
    const facts = [
      by(THREAD, 0, "own-of-thread"),
      ...[THREAD, copy].map((holder) => by(holder, 1, "spawn", spawn)),
      by(NAMED, 2, "own-of-agent"),
      by(other, 2, "own-of-other"),
      ...[other, copy].map((holder) => by(holder, 3, "newer")),
      // The transcript of the thread ends before this result.
      by(copy, 5, "result", {
        type: "call-spawned",
        call: CALL,
        child: agentKey("toy", "copy", "a1"),
        rule: "agent-id",
        source: "parent_rollout",
        says: "",
      } as Fact),
    ];
    for (const order of [facts, facts.toReversed()]) {
      const { agents } = linked(order);
      expect(new Set(agents.keys())).toEqual(new Set([THREAD, NAMED, other, copy]));
      expect(agents.get(NAMED)?.parent).toBe(THREAD);
    }
  });
});

describe("observations of a witness", () => {
  const keys = [recordKey("toy", "m1")];

  it("do not decide who owns a record that the product keeps itself", () => {
    const facts = [
      observed(UNNAMED, 2, RECORD, { keys, origin: "proxy" }),
      observed(UNNAMED, 2, call("m1"), { keys, origin: "proxy" }),
      observed(NAMED, 50, RECORD, { keys }),
      observed(NAMED, 50, call("m1"), { keys }),
    ];
    const { agents } = linked(facts);
    expect([...agents.keys()].sort()).toEqual([THREAD, NAMED]);
    expect(agents.get(NAMED)?.calls).toHaveLength(1);
  });

  it("count if the product keeps no record", () => {
    expect(
      linked([observed(UNNAMED, 2, call("m1"), { keys, origin: "proxy" })]).agents.get(UNNAMED)?.calls,
    ).toHaveLength(1);
  });

  it("of a response that the product knows by another name count once; a second response like it counts again", () => {
    const own = observed(THREAD, 1, call("total-1"));
    const seen = (id: string) => observed(THREAD, 1, call(id, { nameless: true } as Partial<Fact>));
    expect(linked([own, seen("m1")]).agents.get(THREAD)?.calls).toHaveLength(1);
    expect(linked([own, seen("m1"), seen("m2")]).agents.get(THREAD)?.calls).toHaveLength(2);
  });
});

describe("a conversation of an unidentified product, whose own records contain it", () => {
  const [SEEN, SEEN_CHILD, SEEN_TITLE] = ["c1", "c2", "title"].map((id) => threadKey("proxy", id)) as [
    typeof THREAD,
    typeof THREAD,
    typeof THREAD,
  ];
  const mark = (id: string) => recordKey("api", id);
  const answered = (speaker: typeof THREAD, at: number, id: string, marks: string[], more: Partial<Observation> = {}) =>
    observed(speaker, at, call(id, { fingerprints: marks.map(mark) } as Partial<Fact>), {
      keys: [recordKey("toy", `${speaker} ${id}`)],
      ...more,
    });
  const seen = (speaker: typeof THREAD, at: number, fact: Fact) => observed(speaker, at, fact, { origin: "proxy" });
  const match = "toy:match" as never;

  it("is left out, with its agents that got no response; their internal work is that of the caller", () => {
    const facts = [
      observed(THREAD, 1, RECORD),
      answered(THREAD, 1, "own", ["m1"]),
      observed(THREAD, 1, spawn),
      answered(SEEN, 1, "req1", ["m1"], { origin: "proxy" }),
      seen(SEEN, 1, { ...spawn, call: callKey("proxy", "c"), offers: [match] }),
      seen(SEEN_CHILD, 2, RECORD),
      seen(SEEN_CHILD, 2, {
        type: "spawn-match",
        agent: SEEN_CHILD,
        match,
        rule: "prompt",
        source: "inferred",
        exclusive: true,
        says: "",
      }),
      seen(SEEN_CHILD, 2, {
        type: "parent-named",
        child: SEEN_TITLE,
        parent: SEEN_CHILD,
        rule: "quoted-prompt",
        source: "inferred",
        confidence: 0.9,
        says: "",
      }),
      seen(SEEN_TITLE, 2, {
        type: "agent-described",
        agent: SEEN_TITLE,
        internal: { why: "a title", unlessSpawned: true },
      }),
      answered(SEEN_TITLE, 2, "req2", [], { origin: "proxy" }),
    ];
    for (const order of [facts, facts.toReversed()]) {
      const { agents, roots } = linked(order);
      expect(roots).toEqual([THREAD]);
      expect([...agents.keys()]).toEqual([THREAD, expect.stringMatching(/^toy:/)]);
      expect(agents.get(THREAD)?.ownBehalf.map(({ key }) => key)).toEqual([SEEN_TITLE]);
    }
  });

  it("is found among agents with equal responses by those that differ", () => {
    const other = agentKey("toy", "t", "a2");
    const facts = [
      ...[NAMED, other].flatMap((agent, i) => [
        observed(agent, 1, RECORD),
        answered(agent, 1, `first-${i}`, [`f${i}`]),
        answered(agent, 2, `last-${i}`, ["same"]),
      ]),
      answered(SEEN, 1, "req1", ["f1"], { origin: "proxy" }),
      answered(SEEN, 2, "req2", ["same"], { origin: "proxy" }),
    ];
    expect(linked(facts).agents.has(SEEN)).toBe(false);
    expect(linked(facts).agents.get(other)?.calls).toHaveLength(2);
  });
});
