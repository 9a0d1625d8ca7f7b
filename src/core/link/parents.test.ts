import { describe, expect, it } from "vitest";
import {
  agent,
  call,
  callSpawned,
  match,
  notebook,
  parentNamed,
  record,
  spawnCalled,
  spawnMatch,
  thread,
} from "../../../test/support/observations.ts";
import type { AgentKey } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { decideParents, type ManualLink, type Parentage } from "./parents.ts";

const [main, worker, other, leaf] = [thread("t"), agent("t", "worker"), agent("t", "other"), agent("t", "leaf")];

const byHand = (link: Pick<ManualLink, "child" | "parent" | "at"> & Partial<ManualLink>): ManualLink => ({
  call: null,
  request: null,
  ...link,
});
/** Treats every agent that the observations could mention as known. */
const decide = (observations: readonly Observation[], manual: readonly ManualLink[] = []): Parentage =>
  decideParents(observations, new Set([main, worker, other, leaf]), manual);

const rules = (parentage: Parentage, of: AgentKey) => (parentage.evidence.get(of) ?? []).map((e) => e.rule);

describe("which evidence wins", () => {
  it("is a statement rather than a conclusion from a place", () => {
    const book = notebook();
    book.see({ by: leaf, at: 1 }, parentNamed(leaf, main, { confidence: 0.5, source: "inferred", rule: "place" }));
    book.see({ by: leaf, at: 2 }, parentNamed(leaf, worker, { rule: "meta" }));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(worker);
    expect(rules(decided, leaf)).toEqual(["meta", "place"]);
    expect(decided.problems).toEqual([]);
  });

  it("is what the product states, then what the parent's records show, then the child's", () => {
    const book = notebook();
    book.see({ by: leaf, at: 1 }, parentNamed(leaf, main, { source: "child_rollout", rule: "child" }));
    book.see({ by: worker, at: 2 }, spawnCalled("c"));
    book.see({ by: worker, at: 3 }, callSpawned("c", leaf));
    book.see({ by: leaf, at: 4 }, parentNamed(leaf, other, { source: "protocol", rule: "meta" }));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(other);
    expect(rules(decided, leaf)).toEqual(["meta", "result", "child"]);
  });

  it("is a manual link, before everything else", () => {
    const book = notebook();
    book.see({ by: leaf, at: 1 }, parentNamed(leaf, worker));
    const decided = decide(book.observations, [byHand({ child: leaf, parent: other, at: 5_000 })]);
    expect(decided.parents.get(leaf)).toBe(other);
    expect(decided.evidence.get(leaf)?.[0]).toMatchObject({
      rule: "manual",
      source: "manual",
      from: null,
      says: "manually linked on 1970-01-01T00:00:05.000Z",
    });
    expect(rules(decided, leaf)).toEqual(["manual", "named"]);
  });

  it("ignores a manual link to an unknown agent", () => {
    const stranger = agent("t", "stranger");
    const decided = decide([], [byHand({ child: leaf, parent: stranger, at: 1 })]);
    expect(rules(decided, leaf)).toEqual(["thread"]);
    expect(decided.problems).toEqual([
      { code: "manual-link-unknown", where: leaf, detail: `manually linked to ${stranger}` },
    ]);
  });

  it("is the earlier of two equally strong ones, and the conflict is reported", () => {
    const book = notebook();
    book.see({ by: leaf, at: 9 }, parentNamed(leaf, other));
    book.see({ by: leaf, at: 3 }, parentNamed(leaf, worker));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(worker);
    expect(decided.problems).toEqual([
      { code: "parent-conflict", where: leaf, detail: `named names ${worker}, named names ${other}` },
    ]);
  });

  it("is no conflict if two sources agree", () => {
    const book = notebook();
    book.see({ by: leaf, at: 1 }, parentNamed(leaf, worker, { rule: "meta" }));
    book.see({ by: worker, at: 2 }, spawnCalled("c"));
    book.see({ by: worker, at: 3 }, callSpawned("c", leaf));
    expect(decide(book.observations).problems).toEqual([]);
  });
});

describe("an agent without a named parent", () => {
  it("is placed in the thread of its id, with that as the only evidence", () => {
    const decided = decide([]);
    expect(decided.parents.get(leaf)).toBe(main);
    expect(decided.evidence.get(leaf)).toMatchObject([{ rule: "thread", source: "inferred", confidence: 0.1 }]);
    expect(decided.parents.get(main)).toBeNull();
  });
});

describe("a call and the agent that it spawned", () => {
  it("make the caller the parent, found by any record that holds the call", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, record({ calls: [{ call: call("c"), name: "Other" }] }));
    book.see({ by: main, at: 2 }, callSpawned("c", leaf));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(worker);
    expect(decided.agentsOfCall(call("c"))).toEqual([leaf]);
  });

  it("make the receiver of the result the parent if the record of the call is missing", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, record({ role: "user", results: [{ call: call("c"), isError: false }] }));
    book.see({ by: worker, at: 1 }, callSpawned("c", leaf));
    expect(decide(book.observations).parents.get(leaf)).toBe(worker);
  });

  it("are ignored if the caller is unknown", () => {
    const book = notebook();
    book.see({ by: main, at: 2 }, callSpawned("c", leaf));
    expect(rules(decide(book.observations), leaf)).toEqual(["thread"]);
  });

  it("are found by the call's other name too", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, spawnCalled("c", { makes: "maybe", description: "Flow" }));
    book.see({ by: worker, at: 2 }, { type: "call-aliased", alias: call("run/1"), call: call("c") });
    book.see({ by: leaf, at: 3 }, callSpawned("run/1", leaf));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(worker);
    expect(decided.spawnCall(leaf)?.description).toBe("Flow");
    expect(decided.agentsOfCall(call("run/1"))).toEqual([leaf]);
  });
});

describe("a spawn call without an agent", () => {
  it("is shown as an agent under the caller, named by the call", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, spawnCalled("c"));
    const decided = decide(book.observations);
    const asked = agent("t", "c");
    expect([...decided.unseen.keys()]).toEqual([asked]);
    expect(decided.parents.get(asked)).toBe(worker);
    expect(decided.evidence.get(asked)).toMatchObject([
      { rule: "spawn-call", source: "parent_rollout", confidence: 1, call: call("c") },
    ]);
  });

  it("is ignored if such calls spawn agents only sometimes", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, spawnCalled("c", { makes: "maybe" }));
    expect(decide(book.observations).unseen.size).toBe(0);
  });
});

describe("agents and calls that do not name each other", () => {
  const offer = (prompt: string) => ({ offers: [match(prompt)] });

  it("are paired by what they have in common", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, spawnCalled("c", offer("Do it.")));
    book.see({ by: leaf, at: 2 }, spawnMatch(leaf, "Do it."));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(worker);
    expect(decided.evidence.get(leaf)?.[0]).toMatchObject({
      rule: "prompt",
      source: "inferred",
      confidence: 0.9,
      says: "the prompts are equal",
    });
    expect(decided.unseen.size).toBe(0);
  });

  it("are paired in order of time if several match, and are marked as such", () => {
    // main    calls c1 at 1
    // worker  calls c2 at 2, with the same prompt
    // other   begins at 3, leaf at 4
    const book = notebook();
    book.see({ by: leaf, at: 4 }, spawnMatch(leaf, "Do it."));
    book.see({ by: worker, at: 2 }, spawnCalled("c2", offer("Do it.")));
    book.see({ by: other, at: 3 }, spawnMatch(other, "Do it."));
    book.see({ by: main, at: 1 }, spawnCalled("c1", offer("Do it.")));
    const decided = decide(book.observations);
    expect([decided.parents.get(other), decided.parents.get(leaf)]).toEqual([main, worker]);
    expect(decided.evidence.get(leaf)?.[0]).toMatchObject({
      confidence: 0.6,
      says: "the prompts are equal; several matches, paired in order of time",
    });
  });

  it("are paired by a key that only a later record of the agent states", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, spawnCalled("c"));
    book.see({ by: leaf, at: 2 }, spawnMatch(leaf, "bob@team"));
    book.see({ by: worker, at: 3 }, { type: "call-offers", call: call("c"), match: match("bob@team") });
    expect(decide(book.observations).parents.get(leaf)).toBe(worker);
  });

  it("are not paired if the agent is known to belong to another call", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, spawnCalled("c", { offers: [match("p")] }));
    book.see({ by: leaf, at: 2 }, parentNamed(leaf, other));
    book.see({ by: leaf, at: 3 }, spawnMatch(leaf, "p"));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(other);
    expect([...decided.unseen.keys()]).toEqual([agent("t", "c")]);
  });

  it("leave existing pairs unchanged", () => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("c1", offer("Do it.")));
    book.see({ by: main, at: 2 }, callSpawned("c1", other));
    book.see({ by: worker, at: 3 }, spawnCalled("c2", offer("Do it.")));
    book.see({ by: leaf, at: 4 }, spawnMatch(leaf, "Do it."));
    expect(decide(book.observations).parents.get(leaf)).toBe(worker);
  });

  it("are not paired with a later call, nor an agent with its own call", () => {
    const book = notebook();
    book.see({ by: leaf, at: 4 }, spawnMatch(leaf, "Do it."));
    book.see({ by: leaf, at: 3 }, spawnCalled("own", offer("Do it.")));
    book.see({ by: worker, at: 5 }, spawnCalled("later", offer("Do it.")));
    const decided = decide(book.observations);
    expect(rules(decided, leaf)).toEqual(["thread"]);
    expect(decided.unseen.size).toBe(2);
  });

  it("are limited to one agent for each call if a call spawns one agent", () => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("c1", offer("Do it.")));
    book.see({ by: other, at: 2 }, spawnMatch(other, "Do it."));
    book.see({ by: leaf, at: 3 }, spawnMatch(leaf, "Do it."));
    const decided = decide(book.observations);
    expect([rules(decided, other), rules(decided, leaf)]).toEqual([["prompt", "thread"], ["thread"]]);
  });

  it("may be paired with the newest call again if the key is reusable", () => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("c1", offer("bob")));
    book.see({ by: other, at: 2 }, spawnMatch(other, "bob", false));
    book.see({ by: leaf, at: 3 }, spawnMatch(leaf, "bob", false));
    const decided = decide(book.observations);
    expect([decided.parents.get(other), decided.parents.get(leaf)]).toEqual([main, main]);
  });
});

describe("a cycle", () => {
  it("is cut at its weakest evidence, and that agent gets its next best parent outside of the cycle", () => {
    // worker -> other -> leaf -> worker, and a place that names main for leaf
    const book = notebook();
    book.see({ by: worker, at: 1 }, parentNamed(worker, other));
    book.see({ by: other, at: 2 }, parentNamed(other, leaf));
    book.see({ by: leaf, at: 3 }, parentNamed(leaf, worker, { source: "inferred", confidence: 0.6 }));
    book.see({ by: leaf, at: 4 }, parentNamed(leaf, main, { source: "inferred", confidence: 0.5 }));
    const decided = decide(book.observations);
    expect([decided.parents.get(worker), decided.parents.get(other), decided.parents.get(leaf)]).toEqual([
      other,
      leaf,
      main,
    ]);
    expect(decided.problems).toEqual([
      { code: "parent-cycle", where: leaf, detail: [leaf, other, worker].join(" -> ") },
    ]);
  });

  it("of agents without another parent is placed in their thread, with evidence for it", () => {
    const book = notebook();
    book.see({ by: worker, at: 1 }, parentNamed(worker, other));
    book.see({ by: other, at: 2 }, parentNamed(other, worker));
    const decided = decide(book.observations);
    expect([decided.parents.get(worker), decided.parents.get(other)]).toEqual([other, main]);
    expect(decided.evidence.get(other)?.map((e) => [e.parent, e.rule])).toEqual([
      [worker, "named"],
      [main, "thread"],
    ]);
  });

  it("of thousands is reported briefly", () => {
    const book = notebook();
    const name = (n: number) => agent("t", `a${n}`);
    for (let n = 0; n < 5_000; n += 1) book.see({ by: name(n), at: n }, parentNamed(name(n), name((n + 1) % 5_000)));
    const [problem] = decide(book.observations).problems;
    expect(problem?.detail).toMatch(/ and 4992 more$/);
  });

  it("of one is an agent that names itself; it is placed in its thread", () => {
    const book = notebook();
    book.see({ by: leaf, at: 1 }, parentNamed(leaf, leaf));
    const decided = decide(book.observations);
    expect(decided.parents.get(leaf)).toBe(main);
    expect(decided.evidence.get(leaf)?.at(-1)).toMatchObject({ parent: main, rule: "thread", confidence: 0.1 });
    expect(decided.problems).toEqual([{ code: "parent-cycle", where: leaf, detail: "it is named as its own parent" }]);
  });

  it("that a manual link would close is cut elsewhere", () => {
    // by the records:  main -> worker -> leaf;  by hand: worker under leaf
    const book = notebook();
    book.see({ by: leaf, at: 1 }, parentNamed(leaf, worker));
    book.see({ by: worker, at: 2 }, parentNamed(worker, main));
    const decided = decide(book.observations, [byHand({ child: worker, parent: leaf, at: 9 })]);
    expect([decided.parents.get(worker), decided.parents.get(leaf)]).toEqual([leaf, main]);
    expect(decided.problems.map((p) => [p.code, p.where])).toEqual([["parent-cycle", leaf]]);
  });
});

describe("a call that was rejected", () => {
  it("spawned no agent, while an open one is shown as an agent", () => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("refused"));
    book.see({ by: main, at: 2 }, spawnCalled("lost"));
    book.see({ by: main, at: 3 }, { type: "call-refused", call: call("refused"), says: "too deep" });
    const { unseen, refused } = decide(book.observations);
    expect([...unseen.keys()]).toEqual([agent("t", "lost")]);
    expect([...refused]).toMatchObject([[main, [{ call: call("refused"), says: "too deep" }]]]);
  });
});

describe("a manual link to a call", () => {
  it("replaces the agent that was shown for it, and frees the call that was only inferred", () => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("guessed", { offers: [match("p")] }));
    book.see({ by: main, at: 2 }, spawnCalled("meant"));
    book.see({ by: leaf, at: 3 }, spawnMatch(leaf, "p"));
    expect([...decide(book.observations).unseen.keys()]).toEqual([agent("t", "meant")]);
    const decided = decide(book.observations, [byHand({ child: leaf, parent: main, at: 9, call: call("meant") })]);
    expect([...decided.unseen.keys()]).toEqual([agent("t", "guessed")]);
    expect(decided.agentsOfCall(call("meant"))).toEqual([leaf]);
  });

  it("leaves a call unchanged that a record connects with the child", () => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("made"));
    book.see({ by: main, at: 2 }, callSpawned("made", leaf));
    expect([...decide(book.observations, [byHand({ child: leaf, parent: other, at: 9 })]).unseen.keys()]).toEqual([]);
  });

  it("without a call is matched only with the calls of that parent", () => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("mains", { offers: [match("p")] }));
    book.see({ by: worker, at: 2 }, spawnCalled("workers", { offers: [match("p")] }));
    book.see({ by: leaf, at: 3 }, spawnMatch(leaf, "p"));
    expect([...decide(book.observations).unseen.keys()]).toEqual([agent("t", "workers")]);
    expect([...decide(book.observations, [byHand({ child: leaf, parent: worker, at: 9 })]).unseen.keys()]).toEqual([
      agent("t", "mains"),
    ]);
  });
});

describe("agents that a call is recorded to have spawned", () => {
  const stated = {
    type: "agents-stated",
    call: call("w"),
    agents: [agent("t", "w.1"), agent("t", "w.2")],
    kind: "workflow",
    tokens: 5,
  } as const;
  const unseen = (...more: readonly Parameters<ReturnType<typeof notebook>["see"]>[1][]) => {
    const book = notebook();
    book.see({ by: main, at: 1 }, spawnCalled("w", { makes: "maybe" }));
    for (const fact of more) book.see({ by: worker, at: 2 }, fact);
    book.see({ by: main, at: 3 }, stated);
    return [...decide(book.observations).unseen.keys()];
  };

  it("are shown if none of them left a record", () => {
    expect([...unseen()]).toEqual(stated.agents);
  });

  it("are not shown in addition to agents of that type that a proxy observed without their spawn call", () => {
    expect([...unseen({ type: "agent-described", agent: worker, kind: "workflow" })]).toEqual([]);
  });
});
